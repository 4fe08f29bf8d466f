"""What any policy can achieve on a workload (capacity, makespan), and what a given policy does achieve (stability)."""
