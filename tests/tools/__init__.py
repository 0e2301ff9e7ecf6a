"""The command-line tools, each in a folder of its name."""
