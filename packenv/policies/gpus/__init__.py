"""GPUs, shared or whole (Weng et al., USENIX ATC 2023, PAPERS §7)."""
