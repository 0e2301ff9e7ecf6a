"""The clients, and their options."""
