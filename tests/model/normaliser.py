"""The normaliser, written independently of production (SPEC §5).

Keys (entity, attribute): NFKC → zero-width and format characters removed → casefold → NFKC → trim.
String values: NFC → trim → casefold. Decimals compare as numbers, instants as instants, everything
else exactly; values of different types are unequal. Instants are integer microseconds (UTC).
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

# Soft hyphen, combining grapheme joiner, Arabic letter mark, Mongolian vowel separator, zero-width
# space to right-to-left mark, embeddings and overrides, word joiner to invisible plus, isolates
# and deprecated format characters, byte-order mark, tags.
REMOVED = frozenset(
    "\u00ad\u034f\u061c\u180e\ufeff\U000e0001"
    + "".join(
        chr(code)
        for first, last in (
            (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x206F),
            (0xE0020, 0xE007F),
        )
        for code in range(first, last + 1)
    )
)  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def key(text: str) -> str:
    """The normal form of an entity or attribute."""
    folded = unicodedata.normalize("NFKC", text)
    visible = "".join(letter for letter in folded if letter not in REMOVED)
    return unicodedata.normalize("NFKC", visible.casefold()).strip()


def micros(time: int | str) -> int:
    """Microseconds of an instant given as such or as RFC 3339 text."""
    if isinstance(time, int):
        return time
    return (datetime.fromisoformat(time) - _EPOCH) // timedelta(microseconds=1)


def value(given: Any, kind: str = "string") -> tuple[str, object]:
    """A form that two values share iff they are equal (kind: string, integer, decimal, ...)."""
    if kind == "string":
        return kind, unicodedata.normalize("NFC", given).strip().casefold()
    if kind == "decimal":
        return kind, Decimal(given)
    if kind == "instant":
        return kind, micros(given)
    return kind, given
