"""How many servers a workload or a trace needs: goals, a lower bound that no policy can beat, and the search."""
