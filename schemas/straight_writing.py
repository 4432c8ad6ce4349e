"""Events to Avro by straight-line code: an expression for each of our own schemas (SPEC §2).

A walk over the schema says, field by field, how its bytes are made; the expression is compiled
once. What comes out is what fastavro writes from the same fields, byte for byte, in a third of the
time; `tests/schemas/test_straight_writing.py` holds them to that. The layout is in
`schemas.straight`, which reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import count
from typing import Any

from schemas.events import TYPE_OF_KIND, Envelope
from schemas.kinds import Kind
from schemas.scope import Scope

Writing = Callable[[Any], bytes]

WRITE_FAULTS = (ValueError, TypeError, OverflowError, AttributeError, KeyError, struct.error)

_SCOPES = 8192  # scopes whose bytes are kept
_SHORT = [bytes([2 * size]) for size in range(64)]  # sizes that take one byte


def writing(kind: Kind, schema: dict[str, Any], version: int) -> Writing:
    """A function from an event to its record's bytes.

    `schema` is parsed and ours, `version` what its field `schema_version` says. The function raises
    one of `WRITE_FAULTS` for an event that does not fit.
    """
    source = _Source(version)
    own = set(TYPE_OF_KIND[kind].__struct_fields__)
    parts = [
        source.field(field, "event" if field["name"] in own else "envelope")
        for field in schema["fields"]
    ]
    lines = (
        "def write(event):",
        "    envelope = event.envelope",
        f"    return b''.join(({', '.join(parts)},))",
    )
    exec(compile("\n".join(lines), f"<writes {kind.word}>", "exec"), source.names)
    made: Writing = source.names["write"]
    return made


class _Source:
    """Expressions, and the names that they use."""

    def __init__(self, version: int) -> None:
        self.names: dict[str, Any] = {f.__name__: f for f in (_text, _long, _items, _scope)}
        self.names["_double"] = struct.Struct("<d").pack
        self._version = version
        self._numbers = count()

    def field(self, field: dict[str, Any], owner: str) -> str:
        """The bytes of a record's field."""
        name = field["name"]
        if name == "schema_version":
            return repr(_long(self._version))
        if name == "scope":
            return f"_scope({owner}.scope)"
        if owner == "envelope" and name not in Envelope.__struct_fields__:
            raise ValueError(f"no event has a field {name}")
        return self.value(field["type"], f"{owner}.{name}")

    def value(self, schema: Any, value: str) -> str:
        """The bytes of a value, itself an expression."""
        if isinstance(schema, list):
            null, other = schema
            assert null == "null"
            return f"(b'\\0' if {value} is None else b'\\2' + {self.value(other, value)})"
        word = schema if isinstance(schema, str) else schema["type"]
        if word == "array":
            item = f"item{next(self._numbers)}"
            return f"_items([{self.value(schema['items'], item)} for {item} in {value}])"
        if word == "enum":
            symbols = f"symbols{next(self._numbers)}"
            self.names[symbols] = {s: _long(n) for n, s in enumerate(schema["symbols"])}
            return f"{symbols}[{value}]"
        if word == "record":
            fields = schema["fields"]
            if [field["name"] for field in fields] == ["premises"]:  # a justification is a tuple
                return self.value(fields[0]["type"], value)
            return " + ".join(self.value(f["type"], f"{value}.{f['name']}") for f in fields)
        return f"{_WRITES[word]}({value})"


_WRITES = {"string": "_text", "int": "_long", "long": "_long", "double": "_double"}


def _text(text: str) -> bytes:
    raw = text.encode()
    size = len(raw)
    return _SHORT[size] + raw if size < 64 else _long(size) + raw


def _long(number: int) -> bytes:
    """A zigzag varint; `OverflowError` beyond 64 bits."""
    if not -(2**63) <= number < 2**63:
        raise OverflowError("an integer has more than 64 bits")
    left = (number << 1) ^ (number >> 63)
    if left < 128:
        return bytes((left,))
    found = bytearray()
    while left > 127:
        found.append(left & 127 | 128)
        left >>= 7
    found.append(left)
    return bytes(found)


def _items(items: list[bytes]) -> bytes:
    """An array: one block, and the end."""
    return b"%b%b\0" % (_long(len(items)), b"".join(items)) if items else b"\0"


_scopes: dict[Scope, bytes] = {}


def _scope(scope: Scope) -> bytes:
    """A scope's bytes, kept: events come many to a scope."""
    found = _scopes.get(scope)
    if found is None:
        found = b"".join(_text(getattr(scope, name)) for name in Scope.__struct_fields__)
        if len(_scopes) >= _SCOPES:
            _scopes.clear()
        _scopes[scope] = found
    return found
