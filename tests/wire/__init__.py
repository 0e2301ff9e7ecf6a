"""The kinds as others see them on the server: recorded Redisson behaviour, and hashes by hand."""
