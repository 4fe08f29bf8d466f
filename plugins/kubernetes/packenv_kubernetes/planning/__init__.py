"""Plans that begin in a cluster as it is: nodes to add, nodes to take away, nodes that fail."""
