"""`packenv evaluate`: policies side by side on one workload."""
