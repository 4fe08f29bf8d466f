"""Figure 1 of arXiv 1901.05998: how many distinct requests a trace has."""
