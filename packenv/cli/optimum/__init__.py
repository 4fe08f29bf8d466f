"""`packenv optimum`: the shortest schedule of a table of jobs, and how far policies are from it."""
