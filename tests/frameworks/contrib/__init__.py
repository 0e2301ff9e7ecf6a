"""In applications: decorators, clients that are there already, stand-ins, the pytest plugin."""
