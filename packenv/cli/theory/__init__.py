"""The commands about bounds, capacity and optimal policies."""
