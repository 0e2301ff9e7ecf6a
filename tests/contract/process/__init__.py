"""How the library behaves inside a Python program: threads, tasks, exit, warnings, types."""
