"""What was tampered with is found, located and named, and reads of it stop (SPEC §3, I1)."""
