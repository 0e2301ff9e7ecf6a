"""A Django project with one table."""
