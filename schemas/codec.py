"""Events as Avro, always read with the schema that wrote them (SPEC §2, ARCHITECTURE "Formats").

Frames, both read:
- single-object encoding, written by default: C3 01, the schema's fingerprint (8 bytes, little-
  endian), the record;
- Confluent wire format, written where a registry is configured: 00, the schema's id (4 bytes, big-
  endian), the record.

Whatever the bytes are, `decode` gives an event or raises `Undecodable` with one of the codes
`undecodable`, `unknown_schema`, `unknown_symbol`, `null_value`, `oversize`; its text depends on the
bytes alone, so that replay writes the same entry. The one other way out is `Unavailable`, raised
by a resolver whose registry is away: an event is not judged by a registry that did not answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from io import BytesIO
from typing import Any, Protocol

from fastavro import schemaless_reader

from schemas.avro_fields import EVENT_OF_FIELDS, SCHEMA_VERSION
from schemas.errors import Fault, InvalidEvent, Undecodable
from schemas.events import Event
from schemas.kinds import Kind
from schemas.straight import Reading
from schemas.straight_writing import WRITE_FAULTS, Writing, writing
from schemas.topics import INTAKE_MAX_BYTES
from schemas.writers import (
    WriterSchema,
    current_schema,
    fingerprint,
    known_writers,
    writer_schema,
)

__all__ = ["MAX_FRAME_BYTES", "Codec", "SchemaResolver", "fingerprint"]

MAX_FRAME_BYTES = INTAKE_MAX_BYTES - 4096  # room for the headers of the record and its batch

_SINGLE_OBJECT = b"\xc3\x01"
_CONFLUENT = b"\x00"
_SINGLE_OBJECT_HEADER = 10
_CONFLUENT_HEADER = 5
READ_FAULTS = (EOFError, IndexError, ValueError, OverflowError, TypeError)


class SchemaResolver(Protocol):
    """Schemas of a registry. Ids are never reused, so an answer may be kept for ever."""

    def schema(self, schema_id: int) -> str | None:
        """The Avro schema as JSON text, or None if the registry has no such id.

        Raises `Unavailable` if the registry does not answer.
        """
        ...


class Codec:
    """Encodes and decodes events. Safe to share between threads."""

    def __init__(
        self,
        resolver: SchemaResolver | None = None,
        schema_ids: Mapping[Kind, int] | None = None,
    ) -> None:
        """`schema_ids`: ids of our current schemas; kinds that have one are written with it."""
        self._resolver = resolver
        self._writers = known_writers()
        self._by_id: dict[tuple[Kind, int], WriterSchema | Undecodable] = {}
        self._headers = {kind: _SINGLE_OBJECT + fingerprint(kind) for kind in Kind}
        for kind, schema_id in (schema_ids or {}).items():
            self._headers[kind] = _CONFLUENT + schema_id.to_bytes(4, "big")

    def encode(self, kind: Kind, event: Event) -> bytes:
        """The frame of an event; `InvalidEvent` if it cannot be written or is too large."""
        try:
            frame = self._headers[kind] + _writings()[kind](event)
        except WRITE_FAULTS as error:
            fault = Fault("invalid", kind.word, "a value does not fit its field",
                          "send valid Unicode and integers of 64 bits")  # fmt: skip
            raise InvalidEvent(fault) from error
        if len(frame) > MAX_FRAME_BYTES:
            detail = f"the event takes {len(frame)} bytes; the limit is {MAX_FRAME_BYTES}"
            remedy = "keep the content at the host and send `content_ref`"
            raise InvalidEvent(Fault("oversize", kind.word, detail, remedy, str(MAX_FRAME_BYTES)))
        return frame

    def decode(self, kind: Kind, data: bytes | None) -> Event:
        """The event in a frame; see the module for what it raises."""
        if data is None:
            raise Undecodable("null_value", "the record has no value")
        size = len(data)
        if size > MAX_FRAME_BYTES:
            raise Undecodable("oversize", f"{size} bytes; the limit is {MAX_FRAME_BYTES}")
        if data[:2] == _SINGLE_OBJECT and size >= _SINGLE_OBJECT_HEADER:
            start = _SINGLE_OBJECT_HEADER
            writer = self._by_fingerprint(kind, data[2:start])
        elif data[:1] == _CONFLUENT and size >= _CONFLUENT_HEADER:
            start = _CONFLUENT_HEADER
            writer = self._by_schema_id(kind, int.from_bytes(data[1:start], "big"))
        else:
            raise Undecodable("undecodable", "neither single-object nor Confluent framing")
        try:
            event, end = (writer.straight or through_fastavro(writer))(data, start)
        except READ_FAULTS as error:
            raise Undecodable("undecodable", "the bytes are no record of their schema") from error
        if end != size:
            raise Undecodable("undecodable", f"the record takes {end} bytes of {size}")
        return event

    def _by_fingerprint(self, kind: Kind, fingerprint: bytes) -> WriterSchema:
        writer = self._writers.get(fingerprint)
        if writer is None:
            raise Undecodable("unknown_schema", f"no schema has fingerprint {fingerprint.hex()}")
        if writer.kind is not kind:
            detail = f"fingerprint {fingerprint.hex()} is of {writer.kind.word}, not {kind.word}"
            raise Undecodable("unknown_schema", detail)
        return writer

    def _by_schema_id(self, kind: Kind, schema_id: int) -> WriterSchema:
        known = self._by_id.get((kind, schema_id))
        if known is None:
            known = self._by_id[kind, schema_id] = self._resolve(kind, schema_id)
        if isinstance(known, Undecodable):
            raise Undecodable(known.code, known.detail)
        return known

    def _resolve(self, kind: Kind, schema_id: int) -> WriterSchema | Undecodable:
        """What the registry's schema is good for; a missing one raises, so it is asked again."""
        if self._resolver is None:
            raise Undecodable("unknown_schema", f"schema id {schema_id}, but no registry is set")
        text = self._resolver.schema(schema_id)
        if text is None:
            raise Undecodable("unknown_schema", f"the registry has no schema {schema_id}")
        try:
            return writer_schema(kind, text)
        except Undecodable as error:
            return error


@cache
def _writings() -> Mapping[Kind, Writing]:
    return {kind: writing(kind, current_schema(kind), SCHEMA_VERSION) for kind in Kind}


def through_fastavro(writer: WriterSchema) -> Reading:
    """Reads with any schema that may be read."""

    def read(data: bytes, start: int) -> tuple[Event, int]:
        stream = BytesIO(data)
        stream.seek(start)
        fields: Any = schemaless_reader(stream, writer.schema, None)
        return EVENT_OF_FIELDS[writer.kind](fields), stream.tell()

    return read
