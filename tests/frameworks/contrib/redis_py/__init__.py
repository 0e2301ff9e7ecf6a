"""redis-py's own tests of its locks, run against ours."""
