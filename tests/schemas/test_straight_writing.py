"""Straight-line writers make the bytes of fastavro, and refuse what does not fit (SPEC §2)."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from fastavro import schemaless_writer
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from schemas.avro_fields import FIELDS_OF_EVENT, SCHEMA_VERSION
from schemas.codec import Codec
from schemas.errors import InvalidEvent
from schemas.events import Event
from schemas.kinds import Kind
from schemas.straight_writing import _long, writing
from schemas.writers import current_schema
from tests.schemas.generated import events
from tests.schemas.samples import assertion, parse

CODEC = Codec()
STRAIGHT = {kind: writing(kind, current_schema(kind), SCHEMA_VERSION) for kind in Kind}


def by_fastavro(kind: Kind, event: Event) -> bytes:
    """The record's bytes as fastavro writes them."""
    stream = BytesIO()
    schemaless_writer(stream, current_schema(kind), FIELDS_OF_EVENT[kind](event))
    return stream.getvalue()


@given(events)
def test_the_bytes_are_those_of_fastavro(of_kind: tuple[Kind, Event]) -> None:
    kind, event = of_kind
    assert STRAIGHT[kind](event) == by_fastavro(kind, event)
    assert CODEC.decode(kind, CODEC.encode(kind, event)) == event


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_integer_of_64_bits_is_a_zigzag_varint(number: int) -> None:
    stream = BytesIO()
    schemaless_writer(stream, "long", number)
    assert _long(number) == stream.getvalue()


@pytest.mark.parametrize(
    "misfit",
    [
        {"fact_id": "\ud83d"},
        {"fact_id": None},
        {"fact_id": 7},
        {"valid_from": 2**63},
        {"valid_from": -(2**63) - 1},
        {"valid_from": "2026"},
        {"valid_from": None},
        {"confidence": "high"},
        {"justifications": 7},
        {"derivation": None},
    ],
)
def test_an_event_that_does_not_fit_its_schema_is_refused(misfit: dict[str, Any]) -> None:
    kind, event = parse(assertion())
    with pytest.raises(InvalidEvent):
        CODEC.encode(kind, replace(event, **misfit))


def test_a_word_that_no_enum_has_is_refused() -> None:
    kind, event = parse(assertion())
    envelope = replace(event.envelope, actor=replace(event.envelope.actor, role="oracle"))
    with pytest.raises(InvalidEvent):
        CODEC.encode(kind, replace(event, envelope=envelope))
