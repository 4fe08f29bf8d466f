"""Plans of numbers of equal servers: how many of them meet the goals, and what a failure of some does."""
