"""What decides: admission (the pure decide), the partition worker, slow agents, replay, verify.

Imports projections and schemas.
"""
