"""The normaliser: when two spellings are one key, and two values one value (SPEC §5, I3).

Keys (entities, attributes): NFKC, then the format characters listed in `REMOVED` dropped, then
casefold, NFKC, trim. Values: strings NFC, trim, casefold (compatibility characters are kept apart,
so `2⁵` is not `25`, unless policy folds them too); decimals as numbers; all else exactly; different
types never equal. Both serve comparison alone: what is returned is what was given.

Look-alikes are never merged (`schemas.lookalikes` reports them). Whatever changes a result here
needs new `RULES`; the version also says by which Unicode tables it went (14 in Python 3.11).
All processes of one installation must have the same: run them on one Python version.
"""

from __future__ import annotations

import unicodedata

from schemas.events import Value
from schemas.values import DECIMAL

RULES = 1
VERSION = RULES << 8 | int(unicodedata.unidata_version.split(".")[0])

# Zero-width and format characters, which show nothing of their own: soft hyphen, grapheme joiner,
# Arabic letter mark, Mongolian vowel separator, zero-width spaces and joiners, directional marks,
# word joiner and invisible operators, byte order mark, and the tag characters.
REMOVED = frozenset(
    {0x00AD, 0x034F, 0x061C, 0x180E, 0xFEFF, 0xE0001}
    | set(range(0x200B, 0x2010))
    | set(range(0x202A, 0x202F))
    | set(range(0x2060, 0x2070)) - {0x2065}
    | set(range(0xE0020, 0xE0080))
)
_REMOVE = dict.fromkeys(REMOVED)


def normalise_key(text: str) -> str:
    """The key that all spellings of an entity or attribute share; may be empty for blank text."""
    if text.isascii():
        return text.lower().strip()
    kept = unicodedata.normalize("NFKC", text).translate(_REMOVE)
    return unicodedata.normalize("NFKC", kept.casefold()).strip()


def value_key(value: Value, fold_compatibility: bool = False) -> tuple[str, object]:
    """A hashable key that is equal for two values iff the values are equal.

    `value` has passed `schemas.values.check_value`.
    """
    if value.type == "string":
        return ("string", _fold(value.text, fold_compatibility))
    if value.type == "decimal":
        return ("decimal", _number(value.text))
    return (value.type, value.text)


def _fold(text: str, fold_compatibility: bool) -> str:
    if text.isascii():
        return text.strip().lower()
    composed = unicodedata.normalize("NFKC" if fold_compatibility else "NFC", text)
    return composed.strip().casefold()


def _number(text: str) -> tuple[bool, str, int]:
    """(negative, digits, exponent) of digits·10^exponent: no size of exponent is ever expanded."""
    match = DECIMAL.fullmatch(text)
    if match is None:
        raise ValueError("not a decimal")
    sign, whole, fraction, exponent = match["sign"], match["whole"], match["fraction"], match["exp"]
    fraction = fraction or ""
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return (False, "0", 0)
    return (sign == "-", kept, int(exponent or 0) - len(fraction) + len(digits) - len(kept))
