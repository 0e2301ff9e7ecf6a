"""What the tests stand on: servers, a faulty network, child processes, bounded waits, owners."""
