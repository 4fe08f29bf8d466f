"""What is achievable, and whether a run was stable."""
