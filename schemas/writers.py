"""Writers' schemas: which Avro schemas this reader knows, and how it may read them (SPEC §2).

Rules of this module:
- A record is read with the schema that wrote it and no other; fields are then taken by name. A
  schema is known by its fingerprint (ours: `avro/*.avsc` and `avro/released/*/*.avsc`) or by its id
  in a registry.
- A schema that is not ours is used only if every field that we read is there with our type, or is
  optional; what it has besides is read and ignored. Anything else is `unknown_schema`.
- An enum symbol that we do not know is `unknown_symbol`, never a default; a branch or symbol number
  outside its list is refused. fastavro alone would count negative numbers from the end of the list.
- Logical types are dropped: an instant is the integer that was written.
- Every value takes at least a byte and no schema contains itself, so the work and the memory of
  reading are bounded by the size of the frame.

Fingerprint: CRC-64-AVRO of the schema's parsing canonical form, 8 bytes little-endian (Avro 1.12,
"Single-object encoding").
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from fastavro import parse_schema
from fastavro.schema import SchemaParseException, UnknownType, to_parsing_canonical_form
from fastavro.schema import fingerprint as digest_of

from schemas.errors import Undecodable
from schemas.kinds import KIND_OF_WORD, Kind
from schemas.straight import Reading, reading

AVRO_DIR = Path(__file__).parent / "avro"
MAX_SCHEMA_BYTES = 256 * 1024
MAX_SCHEMA_NODES = 4096  # types within one schema, references followed

Schema = Any  # a parsed Avro schema: text, list or mapping

_PRIMITIVES = {"boolean", "int", "long", "float", "double", "bytes", "string"}
_PROMOTIONS = {("int", "long"), ("float", "double")}
_PARSED = {"__fastavro_parsed": True, "__named_schemas": {}}
_SCHEMA_FAULTS = (
    SchemaParseException, UnknownType, ValueError, KeyError, TypeError, AttributeError,
    RecursionError,
)  # fmt: skip


class WriterSchema(msgspec.Struct, frozen=True):
    """A schema that may be read for `kind`; `schema` is guarded and ready for fastavro.

    `straight` is there for our own schemas, wherever their text came from.
    """

    kind: Kind
    fingerprint: bytes
    schema: Schema
    straight: Reading | None = None


class _Symbols(dict[int, str]):
    """An enum's symbols by number; only those that the reader knows."""

    def __init__(self, name: str, symbols: Mapping[int, str]) -> None:
        super().__init__(symbols)
        self._name = name

    def __missing__(self, number: int) -> str:
        raise Undecodable("unknown_symbol", f"{self._name} has no known symbol {number}")


class _Union(list[Schema]):
    """A union's branches; a negative number is no branch.

    Compiled code may add the length to a negative index before it asks, so the length is told as 0.
    """

    def __len__(self) -> int:
        return 0

    def __getitem__(self, number: Any) -> Schema:
        if number < 0:
            raise Undecodable("undecodable", "a union has no branch of a negative number")
        return list.__getitem__(self, number)


def schema_text(kind: Kind) -> str:
    """The current schema of a kind, as its `.avsc` file says it."""
    return (AVRO_DIR / f"{kind.word}.avsc").read_text(encoding="utf-8")


@cache
def current_schema(kind: Kind) -> Schema:
    """The current schema of a kind, parsed for writing."""
    return parse_schema(json.loads(schema_text(kind)))


@cache
def fingerprint(kind: Kind) -> bytes:
    """8 bytes, little-endian, of the current schema of a kind."""
    return _fingerprint(current_schema(kind))


@cache
def known_writers() -> Mapping[bytes, WriterSchema]:
    """Every schema of ours by fingerprint: the current ones and those that were released."""
    released = sorted((AVRO_DIR / "released").glob("*/*.avsc"))
    texts = [(KIND_OF_WORD[p.stem], p.read_text(encoding="utf-8")) for p in released]
    texts += [(kind, schema_text(kind)) for kind in Kind]
    writers = (writer_schema(kind, text) for kind, text in texts)
    return {writer.fingerprint: writer for writer in writers}


def writer_schema(kind: Kind, text: str, reader: str | None = None) -> WriterSchema:
    """A schema ready to read events of `kind`; `Undecodable` (`unknown_schema`) if it cannot.

    `reader`: the schema that says what is read, by default the current one.
    """
    if len(text.encode()) > MAX_SCHEMA_BYTES:
        raise _unknown(kind, f"it is larger than {MAX_SCHEMA_BYTES} bytes")
    ours = current_schema(kind) if reader is None else parse_schema(json.loads(reader))
    names: dict[str, Schema] = {}
    try:
        parsed = parse_schema(json.loads(text), names)
        if not isinstance(parsed, dict):
            raise _unknown(kind, "it is no record")
        straight = reading(kind, parsed) if _is_layout_of(parsed, current_schema(kind)) else None
        guarded = _Guard(kind, names).walk(parsed, ours, kind.word)
    except _SCHEMA_FAULTS as error:
        raise _unknown(kind, "it is not a valid Avro schema") from error
    return WriterSchema(kind, _fingerprint(parsed), {**guarded, **_PARSED}, straight)


def _is_layout_of(parsed: Schema, other: Schema) -> bool:
    """Whether two schemas are one in all but documentation and defaults; a digest would not do."""
    return to_parsing_canonical_form(parsed) == to_parsing_canonical_form(other)


def _fingerprint(parsed: Schema) -> bytes:
    return bytes.fromhex(digest_of(to_parsing_canonical_form(parsed), "CRC-64-AVRO"))


def _unknown(kind: Kind, why: str) -> Undecodable:
    return Undecodable("unknown_schema", f"the schema cannot be read as {kind.word}: {why}")


class _Guard:
    """One walk over a writer's schema beside ours: refuses what we cannot read, guards the rest."""

    def __init__(self, kind: Kind, names: Mapping[str, Schema]) -> None:
        self._kind = kind
        self._names = names
        self._open: set[str] = set()
        self._nodes = 0

    def walk(self, writer: Schema, reader: Schema | None, path: str) -> Any:
        """The guarded schema; `reader` is ours at the same place, None where we have none."""
        self._nodes += 1
        if self._nodes > MAX_SCHEMA_NODES:
            raise _unknown(self._kind, f"it has more than {MAX_SCHEMA_NODES} types")
        if isinstance(writer, list):
            return _Union(self._branch(branch, reader, path) for branch in writer)
        if isinstance(writer, str):
            writer = self._names.get(writer, {"type": writer})
        if reader is not None:
            reader = self._match(writer, reader, path)
        word = writer["type"]
        if word in _PRIMITIVES:
            return word
        if word == "record":
            return self._record(writer, reader, path)
        if word == "enum":
            known = writer["symbols"] if reader is None else reader["symbols"]
            numbered = {i: s for i, s in enumerate(writer["symbols"]) if s in known}
            return {"type": "enum", "name": writer["name"], "symbols": _Symbols(path, numbered)}
        if word in ("array", "map"):
            part = "items" if word == "array" else "values"
            inner = None if reader is None else reader[part]
            return {"type": word, part: self.walk(writer[part], inner, path)}
        if word == "fixed" and writer["size"] > 0:
            return {"type": "fixed", "name": writer["name"], "size": writer["size"]}
        raise _unknown(self._kind, f"{path} has a type that is not read here")

    def _branch(self, branch: Schema, reader: Schema | None, path: str) -> Any:
        if branch not in ("null", {"type": "null"}):
            return self.walk(branch, reader, path)
        if reader is not None and "null" not in _branches(reader):
            raise _unknown(self._kind, f"{path} may be null")
        return "null"

    def _match(self, writer: Schema, reader: Schema, path: str) -> Schema:
        """Our branch that has the writer's type."""
        for branch in _branches(reader):
            ours = {"type": branch} if isinstance(branch, str) else branch
            same = ours["type"] == writer["type"] and ours.get("name") == writer.get("name")
            if same or (writer["type"], ours["type"]) in _PROMOTIONS:
                return ours
        raise _unknown(self._kind, f"{path} has another type")

    def _record(self, writer: Schema, reader: Schema | None, path: str) -> Any:
        name = writer["name"]
        if name in self._open:
            raise _unknown(self._kind, f"{path} contains itself")
        self._open.add(name)
        fields = {field["name"]: field["type"] for field in writer["fields"]}
        ours = {} if reader is None else {f["name"]: f for f in reader["fields"]}
        missing = [n for n, field in ours.items() if n not in fields and "default" not in field]
        if missing:
            raise _unknown(self._kind, f"{path} lacks {missing[0]}")
        if not fields:
            raise _unknown(self._kind, f"{path} is an empty record")
        guarded = [
            {"name": n, "type": self.walk(t, ours[n]["type"] if n in ours else None, f"{path}.{n}")}
            for n, t in fields.items()
        ]
        self._open.remove(name)
        return {"type": "record", "name": name, "fields": guarded}


def _branches(schema: Schema) -> list[Schema]:
    return schema if isinstance(schema, list) else [schema]
