"""The locks and counters, for threads and for tasks."""
