"""What is known: the pure evolve, views, conflicts, barriers, indexes, and stores behind ports.

Imports schemas alone.
"""
