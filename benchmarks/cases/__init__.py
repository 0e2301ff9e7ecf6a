"""The benchmarks: one file for each group, listed in ``catalogue``."""
