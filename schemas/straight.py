"""Straight-line readers of our own schemas, made from them (SPEC §2): half of fastavro's time.

A reader is a Python function whose source follows the schema field by field and ends in the event's
constructor; nothing of it comes from the wire. Schemas that are not ours are read by fastavro
(`schemas.codec`); `tests/schemas/test_straight.py` holds both to the same values and refusals.
Layout (Avro 1.12, "Binary encoding"): integers are zigzag varints of at most 64 bits; a string is
its size and UTF-8; an optional value is branch 0 (null) or 1; an array is blocks of items up to an
empty one, each with its count, a negative count followed by the block's size in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from schemas.errors import Undecodable
from schemas.events import (
    TYPE_OF_KIND,
    Actor,
    ContentRef,
    Derivation,
    Envelope,
    Event,
    Premise,
    Value,
)
from schemas.kinds import Kind
from schemas.scope import Scope

Reading = Callable[[bytes, int], tuple[Event, int]]

_STRUCTS: dict[str, type[msgspec.Struct]] = {
    "scope": Scope,  # of another order of fields
    "actor": Actor,
    "content_ref": ContentRef,
    "value": Value,
    "derivation": Derivation,
    "premises": Premise,
}
_SCOPES = 8192  # scopes that are kept, so that equal ones are one object


def reading(kind: Kind, schema: dict[str, Any]) -> Reading:
    """A function from (frame, start of the record) to (event, end of the record).

    `schema` is parsed and ours. The function raises `Undecodable` for an unknown symbol and
    `IndexError`, `ValueError` or `OverflowError` for bytes that are no record; a record that is cut
    short may also yield an end beyond the frame.
    """
    source = _Source()
    values = {
        field["name"]: source.read(field["type"], field["name"]) for field in schema["fields"]
    }
    struct_ = TYPE_OF_KIND[kind]
    values["envelope"] = source.call(Envelope, values)
    result = source.call(struct_, values)
    lines = ["def read(data, i):", *source.lines, f"    return {result}, i"]
    exec(compile("\n".join(lines), f"<{kind.word}>", "exec"), source.names)
    made: Reading = source.names["read"]
    return made


class _Source:
    """Lines of a function under way, and the names that they use."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            f.__name__: f for f in (_long, _size, _double, _count, _scope)
        }
        self._numbers = count()
        self._indent = "    "

    def call(self, struct_: type[msgspec.Struct], values: dict[str, str]) -> str:
        """The constructor of a struct from the expressions of its fields."""
        self.names[struct_.__name__] = struct_
        return f"{struct_.__name__}({', '.join(values[f] for f in struct_.__struct_fields__)})"

    def read(self, schema: Any, path: str) -> str:
        """Add the lines that read a value; the name that has it."""
        name = f"v{next(self._numbers)}"
        if isinstance(schema, list):
            self._union(schema, path, name)
        else:
            word = schema if isinstance(schema, str) else schema["type"]
            _READS[word](self, schema, path, name)
        return name

    def _add(self, text: str) -> None:
        self.lines += [self._indent + line for line in text.splitlines()]

    def _string(self, schema: Any, path: str, name: str) -> None:
        self._add(
            "n = data[i]\n"
            "if n & 129:\n"  # below zero, or more than one byte
            "    n, i = _size(data, i)\n"
            "else:\n"
            "    n >>= 1\n"
            "    i += 1\n"
            f"{name} = data[i:(i := i + n)].decode()"
        )

    def _long(self, schema: Any, path: str, name: str) -> None:
        self._add(
            "n = data[i]\n"
            "if n & 128:\n"
            f"    {name}, i = _long(data, i)\n"
            "else:\n"
            f"    {name} = (n >> 1) ^ -(n & 1)\n"
            "    i += 1"
        )

    def _double(self, schema: Any, path: str, name: str) -> None:
        self._add(f"{name}, i = _double(data, i)")

    def _enum(self, schema: Any, path: str, name: str) -> None:
        symbols = f"S{name}"
        self.names[symbols] = _Symbols(path, schema["symbols"])
        self._long(schema, path, "n")
        self._add(f"{name} = {symbols}[n]")

    def _union(self, schema: Any, path: str, name: str) -> None:
        null, other = schema
        assert null == "null"
        self._add(f"n = data[i]\ni += 1\nif n == 0:\n    {name} = None\nelif n == 2:")
        self._nested(lambda: self._add(f"{name} = {self.read(other, path)}"))
        self._add("else:\n    raise ValueError('a union has no such branch')")

    def _array(self, schema: Any, path: str, name: str) -> None:
        items, left = f"I{name}", f"L{name}"
        self._add(f"{items} = []\nwhile data[i]:\n    {left}, i = _count(data, i)")
        self._nested(lambda: self._items(schema, path, items, left))
        self._add(f"i += 1\n{name} = tuple({items})")

    def _items(self, schema: Any, path: str, items: str, left: str) -> None:
        self._add(f"while {left}:\n    {left} -= 1")
        self._nested(lambda: self._add(f"{items}.append({self.read(schema['items'], path)})"))

    def _record(self, schema: Any, path: str, name: str) -> None:
        names = tuple(field["name"] for field in schema["fields"])
        if names == Scope.__struct_fields__:
            self._add(f"{name}, i = _scope(data, i)")
            return
        values = {f["name"]: self.read(f["type"], f"{path}.{f['name']}") for f in schema["fields"]}
        struct_ = _STRUCTS.get(path.split(".")[-1])
        if struct_ is None:  # a justification: its premises alone
            (result,) = values.values()
        else:
            result = self.call(struct_, values)
        self._add(f"{name} = {result}")

    def _nested(self, add: Callable[[], None]) -> None:
        self._indent += "    "
        add()
        self._indent = self._indent[:-4]


_READS: dict[str, Callable[[_Source, Any, str, str], None]] = {
    "string": _Source._string,
    "int": _Source._long,
    "long": _Source._long,
    "double": _Source._double,
    "enum": _Source._enum,
    "array": _Source._array,
    "record": _Source._record,
}


class _Symbols(dict[int, str]):
    """An enum's symbols by number."""

    def __init__(self, path: str, symbols: list[str]) -> None:
        super().__init__(enumerate(symbols))
        self._path = path

    def __missing__(self, number: int) -> str:
        raise Undecodable("unknown_symbol", f"{self._path} has no known symbol {number}")


_HIGH_BITS = 0x8080_8080_8080_8080
_EIGHT_BYTES = 0x0080_8080_8080_8080  # seven go on, the eighth ends


def _long(data: bytes, i: int) -> tuple[int, int]:
    """A signed integer of 64 bits, and where it ends."""
    chunk = int.from_bytes(data[i : i + 8], "little")
    if chunk & _HIGH_BITS == _EIGHT_BYTES:  # as an instant in µs has: its groups at once
        number = chunk & 0x007F_007F_007F_007F | (chunk & 0x7F00_7F00_7F00_7F00) >> 1
        number = number & 0x3FFF_0000_3FFF | (number & 0x3FFF_0000_3FFF_0000) >> 2
        number = number & 0x0FFF_FFFF | (number & 0x0FFF_FFFF_0000_0000) >> 4
        return (number >> 1) ^ -(number & 1), i + 8
    byte = data[i]
    i += 1
    number = byte & 127
    shift = 7
    while byte & 128 and shift < 70:
        byte = data[i]
        i += 1
        number |= (byte & 127) << shift
        shift += 7
    if byte & 128 or number >> 64:
        raise OverflowError("an integer has more than 64 bits")
    return (number >> 1) ^ -(number & 1), i


def _size(data: bytes, i: int) -> tuple[int, int]:
    size, i = _long(data, i)
    if not 0 <= size <= len(data) - i:
        raise ValueError("a size goes beyond the record")
    return size, i


def _count(data: bytes, i: int) -> tuple[int, int]:
    """How many items a block has; each takes a byte or more."""
    items, i = _long(data, i)
    if items < 0:
        items = -items
        _, i = _long(data, i)
    if items > len(data) - i:
        raise ValueError("a block has more items than bytes")
    return items, i


_float64 = struct.Struct("<d")


def _double(data: bytes, i: int) -> tuple[float, int]:
    end = i + 8
    if end > len(data):
        raise ValueError("a number is cut short")
    return _float64.unpack_from(data, i)[0], end


_scopes: dict[bytes, Scope] = {}


def _scope(data: bytes, i: int) -> tuple[Scope, int]:
    """A scope; events of one scope share one object."""
    start = i
    for _ in Scope.__struct_fields__:
        n = data[i]
        if n & 129:
            n, i = _size(data, i)
        else:
            n >>= 1
            i += 1
        i += n
    raw = data[start:i]
    scope = _scopes.get(raw)
    if scope is None:
        scope = _new_scope(raw, i - start)
        if len(_scopes) >= _SCOPES:
            _scopes.clear()
        _scopes[raw] = scope
    return scope, i


def _new_scope(raw: bytes, size: int) -> Scope:
    if len(raw) < size:
        raise ValueError("a scope is cut short")
    parts, i = [], 0
    for _ in Scope.__struct_fields__:
        n, i = _size(raw, i)
        parts.append(raw[i : (i := i + n)].decode())
    return Scope(*parts)
