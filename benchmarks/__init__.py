"""Benchmarks of holdfast beside its peers and beside C; run by ``python -m benchmarks``."""
