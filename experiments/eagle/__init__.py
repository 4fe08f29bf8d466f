"""Eagle against Hawk, Sparrow and others."""
