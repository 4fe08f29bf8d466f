"""Placing tasks on GPUs that are shared or taken whole (Weng et al., "Beware of Fragmentation", USENIX ATC 2023; PAPERS §7)."""
