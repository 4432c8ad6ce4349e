"""Look-alike keys: reported, never merged (SPEC §5 "Normaliser").

The table is small on purpose: Cyrillic and Greek letters that print like Latin ones in common
fonts, and two digits. It is a hint for a reader's eye, not the confusables list of Unicode TR 39.
"""

from __future__ import annotations

from schemas.normalise import normalise_key

_CYRILLIC = dict(zip("аеорсухіјѕһԁԛԝвкмнтг", "aeopcyxijshdqwbkmhtr", strict=True))
_GREEK = dict(zip("αβεικνορτυχω", "abeikvoptuxw", strict=True))
_LATIN = str.maketrans({**_CYRILLIC, **_GREEK, "0": "o", "1": "l", "ı": "i"})


def lookalike(a: str, b: str) -> bool:
    """Whether two different keys look alike; False for two spellings of one key."""
    key_a, key_b = normalise_key(a), normalise_key(b)
    return key_a != key_b and key_a.translate(_LATIN) == key_b.translate(_LATIN)
