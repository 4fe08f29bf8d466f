"""Plans for a cluster: nodes to add, to remove, or to lose."""
