"""Plans of a cluster as it is: nodes to add or to lose, and when its queue starts."""
