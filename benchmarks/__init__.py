"""Measurements; each module runs alone with `python -m benchmarks.NAME`."""
