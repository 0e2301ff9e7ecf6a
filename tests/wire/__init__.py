"""The lock as others see it on the server: recorded Redisson behaviour, and hashes made by hand."""
