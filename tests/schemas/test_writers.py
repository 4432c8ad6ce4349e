"""Writers' schemas: the thirteen files, and which others of a record may be read (SPEC §2)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import to_parsing_canonical_form
from hypothesis import given
from hypothesis import strategies as st

from schemas import kinds, writers
from schemas.codec import Codec, fingerprint
from schemas.errors import Undecodable
from schemas.events import Actor, Assertion, Envelope, Observation
from schemas.kinds import Kind
from schemas.scope import Scope
from schemas.writers import schema_text, writer_schema

ENVELOPE_FIELDS = [
    "event_id", "scope", "adapter", "actor", "purpose", "occurred_at", "idempotency_key", "filled",
    "schema_version",
]  # fmt: skip
VOCABULARIES = {
    "ActorRole": kinds.ACTOR_ROLES,
    "Sensitivity": kinds.SENSITIVITIES,
    "DerivationKind": kinds.DERIVATIONS,
    "ValueType": kinds.VALUE_TYPES,
    "Target": kinds.TARGETS,
    "ControlAction": kinds.CONTROLS,
    "ControlTarget": ("fact", "workingset"),
}
GOLDEN_FINGERPRINTS = {
    "observation": "1fd9462e69ed6684",
    "assertion": "3a52ea7573704ba0",
    "retraction": "e7ec808f766463e7",
    "deletion": "6943fef2de0799d7",
    "association": "d40d03b6edd1c841",
    "procedure": "c0ee5afd3fedb53b",
    "outcome": "5fd04a250a544441",
    "commitment": "1c94a7d51846105a",
    "appraisal": "69ed19ec1a46770e",
    "challenge": "58ad27d45450aeaf",
    "grant": "a937de32df5a09df",
    "workingset": "5e58df2fe65f855c",
    "control": "411bfed4e335a198",
}
Json = dict[str, Any]


def schema(kind: Kind) -> Json:
    loaded: Json = json.loads(schema_text(kind))
    return loaded


def field(record: Json, name: str) -> Json:
    found: Json = next(f for f in record["fields"] if f["name"] == name)
    return found


def parts(node: Any) -> Iterator[Json]:
    """Every object within a schema."""
    if isinstance(node, list):
        for item in node:
            yield from parts(item)
    elif isinstance(node, dict):
        yield node
        for item in node.values():
            yield from parts(item)


def crc_64_avro(data: bytes) -> bytes:
    """As the Avro specification writes it, bit by bit."""
    empty = 0xC15D213AA4D7A795
    value = empty
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (empty if value & 1 else 0)
    return value.to_bytes(8, "little")


def test_there_is_a_file_for_each_kind_and_no_other() -> None:
    files = {path.stem for path in writers.AVRO_DIR.glob("*.avsc")}
    assert files == {kind.word for kind in Kind}


def test_all_envelopes_are_equal() -> None:
    for kind in Kind:
        fields = schema(kind)["fields"][: len(ENVELOPE_FIELDS)]
        assert [f["name"] for f in fields] == ENVELOPE_FIELDS
        assert fields == schema(Kind.OBSERVATION)["fields"][: len(ENVELOPE_FIELDS)]


def test_fingerprints_are_golden_and_as_the_specification_computes_them() -> None:
    assert {kind.word: fingerprint(kind).hex() for kind in Kind} == GOLDEN_FINGERPRINTS
    for kind in Kind:
        canonical = to_parsing_canonical_form(parse_schema(schema(kind)))
        assert fingerprint(kind) == crc_64_avro(canonical.encode())
    assert crc_64_avro(b'"null"').hex() == "8a8f25cce724dd63"


@pytest.mark.parametrize("kind", Kind)
def test_enums_are_the_vocabularies_and_default_to_nothing(kind: Kind) -> None:
    for part in parts(schema(kind)):
        assert "logicalType" not in part
        assert part.get("namespace", "mnemolog.v1") == "mnemolog.v1"
        if part.get("type") == "enum":
            assert tuple(part["symbols"]) == VOCABULARIES[part["name"]]
            assert "default" not in part
        if "default" in part:
            assert part["default"] is None
            assert part["type"][0] == "null"


# Schemas of other versions, made from ours.


def change(kind: Kind, edit: Callable[[Json], None]) -> str:
    edited = schema(kind)
    edit(edited)
    return json.dumps(edited)


def swap_scope(record: Json) -> None:
    fields = field(record, "scope")["type"]["fields"]
    fields[0], fields[2] = fields[2], fields[0]


def drop(name: str) -> Callable[[Json], None]:
    def edit(record: Json) -> None:
        record["fields"].remove(field(record, name))

    return edit


def retype(name: str, other: Any) -> Callable[[Json], None]:
    def edit(record: Json) -> None:
        field(record, name).pop("default", None)
        field(record, name)["type"] = other

    return edit


def append(name: str, other: Any) -> Callable[[Json], None]:
    def edit(record: Json) -> None:
        record["fields"].append({"name": name, "type": other})

    return edit


def frame(text: str, fields: Json) -> bytes:
    stream = BytesIO(b"\x00\x00\x00\x00\x05")
    stream.seek(5)
    schemaless_writer(stream, parse_schema(json.loads(text)), fields)
    return stream.getvalue()


class One:
    """A registry with one schema, id 5."""

    def __init__(self, text: str) -> None:
        self._text = text

    def schema(self, schema_id: int) -> str | None:
        return self._text


SCOPE = {"tenant": "T", "namespace": "n", "subject": "S", "branch": "main"}
FIELDS: Json = {
    "event_id": "e1",
    "scope": SCOPE,
    "adapter": "crm",
    "actor": {"id": "a", "role": "tool"},
    "purpose": "p",
    "occurred_at": 5,
    "idempotency_key": "k",
    "filled": [],
    "schema_version": 1,
    "content": "c",
    "content_ref": None,
    "media_type": "text/plain",
    "sensitivity": "normal",
    "salience": 0.5,
}
OBSERVATION = Observation(
    Envelope("e1", Scope("T", "n", "S"), "crm", Actor("a", "tool"), "p", 5, "k", ()),
    "c", None, "text/plain", "normal", 0.5,
)  # fmt: skip


def read(edit: Callable[[Json], None], **changes: object) -> object:
    """An observation written with an edited schema, as we read it."""
    text = change(Kind.OBSERVATION, edit)
    return Codec(One(text)).decode(Kind.OBSERVATION, frame(text, FIELDS | changes))


def test_reordered_fields_are_read_as_their_writer_wrote_them() -> None:
    assert read(swap_scope) == OBSERVATION
    text = change(Kind.OBSERVATION, swap_scope)
    ours = parse_schema(schema(Kind.OBSERVATION))
    misread: Any = schemaless_reader(BytesIO(frame(text, FIELDS)[5:]), ours, None)
    assert misread["scope"]["tenant"] == "S", "the trap: our schema would swap them in silence"


def test_an_older_writer_may_lack_what_is_optional() -> None:
    assert read(drop("content_ref")) == OBSERVATION


def test_what_a_newer_writer_has_besides_is_read_and_ignored() -> None:
    def edit(record: Json) -> None:
        actor = field(record, "actor")["type"]
        actor["fields"].append({"name": "device", "type": ["null", "string"]})
        mood = {"type": "enum", "name": "Mood", "symbols": ["glad", "sad"], "default": "glad"}
        digest = {"type": "fixed", "name": "Digest", "size": 4}
        append("on_behalf_of", {"type": "map", "values": "mnemolog.v1.Actor"})(record)
        append("moods", {"type": "array", "items": mood})(record)
        append("digest", digest)(record)
        append("seen", "boolean")(record)

    actor = {"id": "a", "role": "tool", "device": "phone"}
    extra = {"on_behalf_of": {"x": actor}, "moods": ["sad"], "digest": b"1234", "seen": True}
    assert read(edit, actor=actor, **extra) == OBSERVATION


def test_a_logical_type_changes_nothing() -> None:
    instant = {"type": "long", "logicalType": "timestamp-micros"}
    assert read(retype("occurred_at", instant), occurred_at=5) == OBSERVATION
    beyond = read(retype("occurred_at", instant), occurred_at=2**62)
    assert isinstance(beyond, Observation)
    assert beyond.envelope.occurred_at == 2**62


@pytest.mark.parametrize(
    "edit",
    [
        retype("occurred_at", "int"),
        retype("salience", "float"),
        retype("content", "string"),
        retype("content", ["string", "null"]),
        retype("media_type", {"type": "string"}),
    ],
)
def test_types_that_lose_nothing_are_read(edit: Callable[[Json], None]) -> None:
    assert read(edit) == OBSERVATION


def test_an_enum_default_hides_no_new_symbol() -> None:
    def edit(record: Json) -> None:
        enum = field(record, "sensitivity")["type"]
        enum["symbols"] = ["normal", "classified"]
        enum["default"] = "normal"

    assert read(edit) == OBSERVATION
    with pytest.raises(Undecodable) as caught:
        read(edit, sensitivity="classified")
    assert caught.value.code == "unknown_symbol"


def list_node() -> Json:
    node = ["null", "mnemolog.v1.Node"]
    return {"type": "record", "name": "Node", "fields": [{"name": "next", "type": node}]}


def wide(count: int) -> Callable[[Json], None]:
    def edit(record: Json) -> None:
        for number in range(count):
            append(f"extra_{number}", "string")(record)

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        drop("media_type"),
        drop("scope"),
        retype("media_type", "bytes"),
        retype("media_type", "int"),
        retype("media_type", ["null", "string"]),
        retype("media_type", "null"),
        retype("occurred_at", "double"),
        retype("filled", {"type": "array", "items": "long"}),
        retype("filled", {"type": "map", "values": "string"}),
        retype("salience", "long"),
        retype("sensitivity", {"type": "enum", "name": "Other", "symbols": ["normal"]}),
        lambda record: record.update(name="Remark"),
        lambda record: record.update(namespace="elsewhere"),
        lambda record: field(record, "scope")["type"].update(name="Place"),
        append("nulls", {"type": "array", "items": "null"}),
        append("empties", {"type": "record", "name": "Empty", "fields": []}),
        append("list", list_node()),
        append("odd", {"type": "no such type"}),
        append("odd", "no.such.Name"),
        append("odd", {"type": "fixed", "name": "Nothing", "size": 0}),
        wide(5000),
    ],
)
def test_a_schema_that_we_cannot_read_by_name_is_refused(edit: Callable[[Json], None]) -> None:
    with pytest.raises(Undecodable) as caught:
        writer_schema(Kind.OBSERVATION, change(Kind.OBSERVATION, edit))
    assert caught.value.code == "unknown_schema"


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "7", '"string"', "[]", '["null"]', '{"type": "record"}', "[" * 100_000,
     '{"type": "record", "name": "Observation", "fields": 7}', '"' + "x" * 300_000 + '"',
     '{"type": {"type": "string"}}', f"[{schema_text(Kind.OBSERVATION)}]"],
)  # fmt: skip
def test_what_is_no_schema_of_the_record_is_refused(text: str) -> None:
    with pytest.raises(Undecodable) as caught:
        writer_schema(Kind.OBSERVATION, text)
    assert caught.value.code == "unknown_schema"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["null", "string", "record", ""]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "name", "items", "symbols"]), inner, max_size=3)
    ),
    max_leaves=4,
)


@given(st.data())
def test_a_mangled_schema_is_used_or_refused(data: st.DataObject) -> None:
    mangled = schema(data.draw(st.sampled_from(Kind)))
    part = data.draw(st.sampled_from(list(parts(mangled))))
    part[data.draw(st.sampled_from(sorted(part)))] = data.draw(json_values)
    code = "unknown_schema"
    try:
        writer_schema(Kind.OBSERVATION, json.dumps(mangled))
    except Undecodable as error:
        code = error.code
    assert code == "unknown_schema"


# Released schemas.


def test_an_assertion_of_an_older_writer_lacks_optional_parts_within_premises() -> None:
    def edit(record: Json) -> None:
        premises = field(record, "justifications")["type"]["items"]["fields"][0]
        premise = premises["type"]["items"]
        premise["fields"] = [f for f in premise["fields"] if f["name"] in ("observation", "quote")]

    text = change(Kind.ASSERTION, edit)
    shared = {name: FIELDS[name] for name in ENVELOPE_FIELDS}
    premise = {"observation": "e1", "quote": "c"}
    fields = shared | {
        "fact_id": "f1",
        "entity": "S",
        "attribute": "city",
        "value": {"type": "string", "text": "Berlin"},
        "valid_from": 0,
        "valid_to": None,
        "confidence": 1.0,
        "derivation": {"kind": "direct", "method": "m", "version": "1"},
        "justifications": [{"premises": [premise]}],
        "supersedes": None,
        "expires_at": None,
    }
    event = Codec(One(text)).decode(Kind.ASSERTION, frame(text, fields))
    assert isinstance(event, Assertion)
    assert event.justifications[0][0].quote == "c"
    assert event.justifications[0][0].start is None


def test_our_own_schema_is_read_straight_wherever_it_comes_from() -> None:
    """A registry may give it back with other documentation, and with logical types named."""

    def edit(record: Json) -> None:
        record["doc"] = "Another."
        retype("occurred_at", {"type": "long", "logicalType": "timestamp-micros"})(record)

    assert writer_schema(Kind.OBSERVATION, change(Kind.OBSERVATION, edit)).straight is not None
    assert read(edit) == OBSERVATION
    assert writer_schema(Kind.OBSERVATION, change(Kind.OBSERVATION, swap_scope)).straight is None
