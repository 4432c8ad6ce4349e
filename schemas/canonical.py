"""Canonical JSON: one text for one value, and the limits of JSON that is kept whole (SPEC §2).

Keys sorted by code point, no blanks, UTF-8 unescaped but for quotes, backslashes and control
characters; integers have 64 bits, numbers with a fraction are finite and written shortest. Equal
values have equal text, so digests over it mean something.
"""

from __future__ import annotations

import json
import math

from schemas.errors import InvalidEvent, invalid
from schemas.limits import INT64_MAX, INT64_MIN, NAME_BYTES, PAYLOAD_BYTES, PAYLOAD_DEPTH
from schemas.text import check_text


def canonical(value: object) -> str:
    """The canonical text of plain JSON data (dict, list, str, int, float, bool, None)."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


def payload_text(value: object, field: str) -> str:
    """The canonical text of a JSON object given by a caller.

    Raises `InvalidEvent` naming the place inside it: anything but a JSON object, deeper than 32
    levels, longer than 1 MiB, a number that JSON integers of 64 bits or finite floats cannot hold,
    NUL or a lone surrogate.
    """
    if not isinstance(value, dict):
        raise invalid("wrong_type", field, "not a JSON object", "send {…}")
    _walk(value, field, 1, field)
    text = canonical(value)
    check_text(text, field, PAYLOAD_BYTES)
    return text


def check_payload(text: str, field: str) -> None:
    """That `text` is what `payload_text` yields; raises `InvalidEvent`."""
    check_text(text, field, PAYLOAD_BYTES)
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep(field) from None
    except ValueError:
        raise invalid(
            "invalid_json", field, "not JSON", "send a JSON object as canonical text"
        ) from None
    if payload_text(value, field) != text:
        raise invalid(
            "not_canonical",
            field,
            "JSON, but not in canonical form",
            "sort keys, drop blanks and repeated keys, do not escape what needs none",
        )


def _walk(value: object, at: str, depth: int, field: str) -> None:
    """Check everything inside; `at` is the place, `depth` that of a dict or list found here."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        check_text(value, at, PAYLOAD_BYTES, empty=True)
    elif isinstance(value, int):
        if not INT64_MIN <= value <= INT64_MAX:
            raise invalid(
                "out_of_range",
                at,
                "an integer has 64 bits",
                "send it as a string",
                f"{INT64_MIN} to {INT64_MAX}",
            )
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise invalid("out_of_range", at, "not a finite number", "leave it out, or use null")
    elif depth > PAYLOAD_DEPTH:
        # Not `at`: the interpreter's own limit, met while parsing, must give the same fault.
        raise _too_deep(field)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise invalid("wrong_type", at, "a key that is not text", "use text for keys")
            check_text(key, at, NAME_BYTES, empty=True)
            _walk(inner, f"{at}.{key}", depth + 1, field)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            _walk(inner, f"{at}[{i}]", depth + 1, field)
    else:
        raise invalid(
            "wrong_type", at, "not JSON data", "use text, numbers, booleans, lists, objects"
        )


def _too_deep(field: str) -> InvalidEvent:
    return invalid(
        "too_deep",
        field,
        "nested too deeply",
        f"nest at most {PAYLOAD_DEPTH} levels",
        f"{PAYLOAD_DEPTH} levels",
    )
