"""Plans of mixes of machines: the cheapest one that meets the goals."""
