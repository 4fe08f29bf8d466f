"""What the commands print of a cluster as it is."""
