"""Figure 2 of arXiv 1901.05998: the universal partition and its reduced configurations."""
