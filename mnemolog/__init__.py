"""The front door: the public Python API, the command line, settings, the wiring of each process.

The composition root: it alone imports every package, and nothing imports it.
"""
