"""Reinforcement learning: Stable-Baselines3's algorithms with these networks, and rewards discounted by elapsed slots."""
