"""Processes killed at exact points (SIGKILL): nothing lost, nothing doubled (SPEC §3)."""
