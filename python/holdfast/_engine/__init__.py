"""What ties the engine to Python: events, errors, names, loops and logs."""
