"""Figure 4 of arXiv 1901.05998: mean queues against traffic intensity."""
