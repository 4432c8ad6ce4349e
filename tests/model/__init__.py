"""The naive reference model: the rules of docs/semantics.md once more, without production code."""
