"""Evolution: CMA-ES searches for the weights of a small network by whole runs of the simulator."""
