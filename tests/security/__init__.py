"""Who may talk to whom: TLS, users with few rights, servers that refuse commands."""
