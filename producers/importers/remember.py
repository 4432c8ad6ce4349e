"""`remember:` lines: the one way in which a chat message states a fact to this importer.

    remember: ENTITY | ATTRIBUTE | VALUE
    remember: ENTITY | ATTRIBUTE | VALUE (replaces previous)

The keyword opens the line; the three fields are trimmed of blanks, and a `|` after the second one
belongs to the value. No model reads the rest of the message: words are evidence, not facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(r"^remember:(.*)$", re.MULTILINE)
_REPLACES = "(replaces previous)"


@dataclass(frozen=True, slots=True)
class Remember:
    """One line; `start`, `end` are byte offsets of `value` in the UTF-8 message."""

    entity: str
    attribute: str
    value: str
    start: int
    end: int
    replaces: bool


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that has the keyword but not three fields; `line` counts from 1 in the message."""

    line: int


def remember_lines(content: str) -> Iterator[Remember | Malformed]:
    """The `remember:` lines of a message, in order."""
    for match in _LINE.finditer(content):
        fields = match[1].split("|", 2)
        if len(fields) < 3:
            yield Malformed(content.count("\n", 0, match.start()) + 1)
            continue
        entity, attribute, rest = fields[0].strip(), fields[1].strip(), fields[2].rstrip()
        value = rest.removesuffix(_REPLACES).strip()
        if not (entity and attribute and value):
            yield Malformed(content.count("\n", 0, match.start()) + 1)
            continue
        first = match.end(1) - len(fields[2]) + len(rest) - len(rest.lstrip())
        start = len(content[:first].encode())
        yield Remember(
            entity,
            attribute,
            value,
            start,
            start + len(value.encode()),
            rest.endswith(_REPLACES),
        )
