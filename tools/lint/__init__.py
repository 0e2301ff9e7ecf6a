"""The lint: `python -m tools.lint` runs every check, `python -m tools.lint <check> ...` some."""
