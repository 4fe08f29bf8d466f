"""Gymnasium environments over the simulator: one compiled core, and three faces (single, batched, Stable-Baselines3)."""
