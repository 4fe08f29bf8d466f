"""`packenv leaderboard`: policies and agents ranked on the same jobs of many workloads."""
