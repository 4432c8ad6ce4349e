"""The tests: each folder beside this file is named after the package or the clause it holds to."""
