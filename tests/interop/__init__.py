"""Java and Python on one lock: see README.md."""
