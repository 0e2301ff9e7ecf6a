"""The guard: a process that releases what a dead program held."""
