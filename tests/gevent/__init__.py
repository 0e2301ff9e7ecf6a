"""Programs under gevent, each in a process of its own."""
