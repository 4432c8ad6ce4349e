"""GPM's clauses I1 to I5, one module each; `python -m tests.mutants` breaks each and watches."""
