"""What no policy can do with: the fewest servers, the least cost, and the proofs of both."""
