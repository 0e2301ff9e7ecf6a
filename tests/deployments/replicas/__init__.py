"""What replicas_to_wait promises, with a real primary and real replicas."""
