"""A seeded scheduler of faults: what survives them is compared with the reference model."""
