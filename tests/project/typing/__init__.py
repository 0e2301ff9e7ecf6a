"""The types match the package."""
