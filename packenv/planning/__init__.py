"""Server planning: goals, a lower bound for all policies, the search."""
