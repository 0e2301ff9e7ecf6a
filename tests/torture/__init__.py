"""The torture run: README.md says what it does, and how a seed that failed is run again."""
