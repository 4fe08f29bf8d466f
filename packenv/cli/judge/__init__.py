"""`packenv judge`: which fraction of the maximum supportable workload a policy keeps stable."""
