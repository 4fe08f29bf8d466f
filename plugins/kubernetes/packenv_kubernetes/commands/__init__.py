"""Commands about a cluster, and their output."""
