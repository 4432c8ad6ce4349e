"""One suite a port: every implementation passes it."""
