"""Lower bounds for all policies, on servers and cost, with proofs."""
