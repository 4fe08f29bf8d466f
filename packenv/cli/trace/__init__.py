"""`packenv trace`: recorded workloads converted, described and turned into random workloads like them."""
