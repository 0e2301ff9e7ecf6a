"""The inspector in a real browser; see README.md."""
