"""What is said: events, ledger entries, Avro files and codec, scopes, intervals, values, errors.

Imports none of the other packages and holds every byte layout.
"""
