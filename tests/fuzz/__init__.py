"""Fuzz targets: whatever the bytes are, a value or a named error, in bounded time and memory."""
