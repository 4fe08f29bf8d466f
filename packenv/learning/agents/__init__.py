"""Saved agents: networks that schedule in the compiled loop, alone or under a guard. Nothing here needs PyTorch."""
