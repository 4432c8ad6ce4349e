"""The core over in-memory stores, against the reference model."""
