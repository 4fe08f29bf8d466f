"""`packenv plan`: how many servers a workload or a trace needs."""
