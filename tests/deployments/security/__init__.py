"""Access: TLS, users with few rights, servers that refuse commands."""
