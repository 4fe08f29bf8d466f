"""Commands about bounds, capacity and optimal policies."""
