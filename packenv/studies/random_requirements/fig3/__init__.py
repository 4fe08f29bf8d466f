"""Figure 3 of arXiv 1901.05998: queues over time where a policy is unstable."""
