"""The papers' figures, the bench, and a script a picture of the docs. They run from a checkout; nothing of them is installed."""
