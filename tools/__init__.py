"""Tools of the project's own; nothing here is installed."""
