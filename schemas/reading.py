"""JSON text in: strict, and never a fault of ours whatever the bytes (INTERFACE, top).

Refused: bytes that are not UTF-8, a byte order mark (RFC 8259 §8.1), NaN and infinities, an object
that says one key twice (two readers would see two events), nesting that no event has.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import NoReturn

from schemas.errors import invalid
from schemas.faults import path


def read_json(data: bytes | str) -> object:
    """The plain data of one JSON document.

    Raises `InvalidEvent`: `not_utf8`, `invalid_json`, `too_deep` or `repeated_field`.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
        if text.startswith("\ufeff"):
            detail = "it begins with a byte order mark"
            raise invalid("invalid_json", "", detail, "send UTF-8 without one")
        return _DECODER.decode(text)
    except UnicodeDecodeError as error:
        detail = f"byte {error.start} is not UTF-8"
        raise invalid("not_utf8", "", detail, "encode the JSON as UTF-8") from None
    except json.JSONDecodeError as error:
        detail = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise invalid("invalid_json", "", f"not JSON: {detail}", "send one JSON document") from None
    except RecursionError:
        raise invalid(
            "too_deep", "", "nested too deeply", "nest no deeper than events do"
        ) from None
    except ValueError:
        remedy = "send numbers of 64 bits, longer ones as strings"
        raise invalid("invalid_json", "", "a number of thousands of digits", remedy) from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        field = path((repeated,))
        raise invalid("repeated_field", field, "the object says it twice", "say it once")
    return members


def _constant(word: str) -> NoReturn:
    raise invalid("invalid_json", "", f"{word} is not JSON", "send a finite number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
