"""Programs under gevent, each in a separate process."""
