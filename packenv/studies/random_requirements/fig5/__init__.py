"""Figure 5 of arXiv 1901.05998: queues and delays against traffic scaling, on a trace."""
