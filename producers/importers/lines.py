"""Text of foreign sources on one line."""

from __future__ import annotations


def one_line(text: str) -> str:
    """`text` with every run of white space, line breaks too, as one blank."""
    return " ".join(text.split())
