"""Producers with schemas of their own: edited from ours, registered, and written by id."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from fastavro import parse_schema, schemaless_writer

from schemas.avro_fields import FIELDS_OF_EVENT
from schemas.events import Event
from schemas.kinds import Kind
from schemas.writers import schema_text

Json = dict[str, Any]
Edit = Callable[[Json], None]


def edited(kind: Kind, *edits: Edit) -> str:
    """The current schema of a kind with changes."""
    schema: Json = json.loads(schema_text(kind))
    for edit in edits:
        edit(schema)
    return json.dumps(schema)


def field(record: Json, name: str) -> Json:
    """A field of a record's schema, or of the record that is a field's type."""
    at, _, rest = name.partition(".")
    found: Json = next(one for one in record["fields"] if one["name"] == at)
    return field(found["type"], rest) if rest else found


def subject_before_tenant(record: Json) -> None:
    """{tenant, namespace, subject} becomes {subject, namespace, tenant}."""
    fields = field(record, "scope")["type"]["fields"]
    fields[0], fields[2] = fields[2], fields[0]


def extra(name: str, schema: object, default: object) -> Edit:
    """A field that we do not have, with a default, as an evolution that may be registered."""
    return lambda record: record["fields"].append(
        {"name": name, "type": schema, "default": default}
    )


class Writer:
    """Writes events with one schema under a subject of its own."""

    def __init__(self, url: str, subject: str, kind: Kind, text: str) -> None:
        self.kind = kind
        self.text = text
        client = SchemaRegistryClient({"url": url})
        self.schema_id = client.register_schema(subject, Schema(text, "AVRO"))

    def type_of(self, name: str) -> str:
        """The type of a field that only this schema has, or ''."""
        for one in json.loads(self.text)["fields"]:
            if one["name"] == name:
                return str(one["type"]["type"] if isinstance(one["type"], dict) else one["type"])
        return ""

    def frame(self, event: Event, **changes: object) -> bytes:
        """Confluent wire format; `changes` are fields as Avro has them."""
        stream = BytesIO()
        stream.write(b"\x00" + self.schema_id.to_bytes(4, "big"))
        fields = FIELDS_OF_EVENT[self.kind](event) | changes
        schemaless_writer(stream, parse_schema(json.loads(self.text)), fields)
        return stream.getvalue()
