"""The command line, as processes."""
