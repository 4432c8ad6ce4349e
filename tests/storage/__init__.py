"""Storage trouble: each stops cleanly, says what to type, and goes on without loss once mended."""
