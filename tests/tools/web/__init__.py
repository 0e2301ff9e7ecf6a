"""The inspector over HTTP: access, API, load."""
