"""Checks of text: opaque, byte-exact, never repaired (SPEC §1, INTERFACE "Events").

A text that cannot be stored or shown as it came is refused with the position of the fault: NUL
and lone surrogates (half an emoji), counted in characters from 0. Nothing is cut, trimmed or
replaced.
"""

from __future__ import annotations

import unicodedata

from schemas.errors import invalid
from schemas.limits import ID_BYTES, MARKS


def check_id(text: str, field: str) -> None:
    """An id or scope component: 1 to 256 bytes, no NUL, no lone `*`."""
    if 0 < len(text) <= ID_BYTES and text.isascii() and "\0" not in text and text != "*":
        return
    if text == "*":
        raise invalid(
            "wildcard", field, "a lone * is not an id", "name one id or component exactly"
        )
    check_text(text, field, ID_BYTES)


def check_text(text: str, field: str, limit: int, *, empty: bool = False) -> int:
    """The size of `text` in bytes of UTF-8; it must lie within `limit` and, unless `empty`, be > 0.

    Raises `InvalidEvent`: `empty`, `too_long`, `nul` or `lone_surrogate`.
    """
    at = text.find("\0")
    if at >= 0:
        raise invalid("nul", field, f"NUL at character {at}", "remove the NUL before sending")
    if text.isascii():
        size = len(text)
    else:
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise invalid(
                "lone_surrogate",
                field,
                f"half of a surrogate pair at character {error.start}",
                "send whole characters; cut text between characters, not inside an emoji",
            ) from None
    if size > limit:
        raise invalid(
            "too_long",
            field,
            f"{size} bytes of UTF-8",
            f"send at most {limit} bytes",
            f"{limit} bytes",
        )
    if size == 0 and not empty:
        raise invalid("empty", field, "the text is empty", "give at least one character", "1 byte")
    return size


def check_marks(text: str, field: str) -> None:
    """Refuse runs of combining marks beyond the Stream-Safe bound (UAX #15): no script needs them.

    Normalising such a run takes time that grows with its square.
    """
    if text.isascii():
        return
    run = 0
    for at, character in enumerate(text):
        run = run + 1 if unicodedata.combining(character) else 0
        if run > MARKS:
            raise invalid(
                "too_many_marks",
                field,
                f"more than {MARKS} combining marks in a row at character {at}",
                "send text with fewer combining marks on one letter",
                str(MARKS),
            )
