"""`holdfast run`: statuses, signals, terminals, and the death of each process involved."""
