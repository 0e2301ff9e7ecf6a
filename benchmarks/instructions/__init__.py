"""The instructions of a client; ``python -m benchmarks.instructions``."""
