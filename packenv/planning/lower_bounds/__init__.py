"""Lower bounds for all policies: on the number of servers and on the cost, with their proofs."""
