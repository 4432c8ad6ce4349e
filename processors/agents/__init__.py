"""The slow agents, on faust-streaming: what happens by clock, said as events like all others.

The logic is in `processors.due`, pure; here is only when it runs. No Faust tables: one store, one
truth.
"""
