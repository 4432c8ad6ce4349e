"""Rows read for what a view of many records needs, and no more (SPEC §8).

Rules
- A glance is its row, seen through fewer fields: the same bytes, decoded in a quarter of the time.
  Fields stand in the row's own order up to the last that is needed, those of nested structs too; a
  test holds the names against `rows`.
- A glance may say "certainly so" or "look closer"; it is never what an answer is made of.
- A record that an index names and that is not there is damage (SPEC §5, "reads check what they
  serve").
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import TypeVar

import msgspec

from projections import keys
from projections.rows import Mark
from projections.state import Reader, StoreReader
from schemas.errors import StoreDamaged
from schemas.events import Value

G = TypeVar("G")


class DocumentGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Which record a document is of; its text stands in the record."""

    fact: bool
    record: bytes


class EnvelopeGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Which event it is."""

    event_id: str


class ContentGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What an observation said; None if only a reference is kept."""

    envelope: EnvelopeGlance
    content: str | None


class ObservationGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An observation as far as its visibility goes; see `rows.ObservationRow`."""

    sequence: int
    recorded_at: int
    append: int
    adapter: bytes
    tier: int
    hash: bytes
    key_id: bytes
    quote_key: bytes
    event: ContentGlance | None
    risks: tuple[str, ...]
    deletions: tuple[Mark, ...]
    hiders: tuple[bytes, ...]
    ordinal: int


class WitnessGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How a premise was judged, and when; see `bodies.Witness`."""

    on_fact: bool
    source: str
    check: int
    start: int | None
    end: int | None
    recorded_at: int


class DerivationGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How an assertion came about, in a word."""

    kind: str


class AssertionGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a fact says, and when it holds; see `events.Assertion`."""

    envelope: EnvelopeGlance
    fact_id: str
    entity: str
    attribute: str
    value: Value
    valid_from: int
    valid_to: int | None
    confidence: float
    derivation: DerivationGlance
    justifications: tuple[()]
    supersedes: str | None
    expires_at: int | None


class FactGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A fact as far as its status and interval go; see `rows.FactRow`."""

    sequence: int
    recorded_at: int
    decided_at: int
    append: int
    partition: int
    offset: int
    decision: int
    reason: int
    flags: int
    tier: int
    adapter: bytes
    subject: bytes
    key_id: bytes
    event: AssertionGlance | None
    witnesses: tuple[tuple[WitnessGlance, ...], ...]
    risks: tuple[str, ...]
    sources: tuple[bytes, ...]
    supersedes: bytes
    entity_attribute: bytes
    idempotency: bytes
    content: bytes
    retractions: tuple[Mark, ...]
    deletions: tuple[Mark, ...]
    timed_out: int
    expired: int
    ordinal: int


_document = msgspec.msgpack.Decoder(DocumentGlance).decode
_observation = msgspec.msgpack.Decoder(ObservationGlance).decode
_fact = msgspec.msgpack.Decoder(FactGlance).decode


def document_glances(
    reader: Reader, scope16: bytes, ordinals: Sequence[int]
) -> list[DocumentGlance]:
    """Documents in the order given. Raises `StoreDamaged`."""
    rows = reader.raw([keys.document(scope16, ordinal) for ordinal in ordinals])
    return [
        _document(_there(data, f"document {ordinal}"))
        for ordinal, data in zip(ordinals, rows, strict=True)
    ]


def observation_glances(
    reader: Reader, scope16: bytes, records: Sequence[bytes]
) -> dict[bytes, ObservationGlance]:
    """Observations by record hash. Raises `StoreDamaged`."""
    rows = reader.raw([keys.observation(scope16, record16) for record16 in records])
    return {
        record16: _observation(_there(data, f"observation {record16.hex()}"))
        for record16, data in zip(records, rows, strict=True)
    }


def fact_glances(
    reader: Reader, scope16: bytes, records: Sequence[bytes]
) -> dict[bytes, FactGlance]:
    """Facts by record hash. Raises `StoreDamaged`."""
    rows = reader.raw([keys.fact(scope16, record16) for record16 in records])
    return {
        record16: _fact(_there(data, f"fact {record16.hex()}"))
        for record16, data in zip(records, rows, strict=True)
    }


def _there(data: bytes | None, what: str) -> bytes:
    if data is None:
        raise StoreDamaged(what)
    return data


def scope_observations(
    reader: StoreReader, scope16: bytes, limit: int
) -> dict[bytes, ObservationGlance] | None:
    """All of a scope by record hash, in one walk; None if there are more than `limit`."""
    return _walk(reader, keys.observations(scope16), _observation, limit)


def scope_facts(reader: StoreReader, scope16: bytes, limit: int) -> dict[bytes, FactGlance] | None:
    """All of a scope by record hash, in one walk; None if there are more than `limit`."""
    return _walk(reader, keys.facts(scope16), _fact, limit)


def _walk(
    reader: StoreReader, prefix: bytes, decode: Callable[[bytes], G], limit: int
) -> dict[bytes, G] | None:
    """One walk costs a fifth of as many gets."""
    at, rows = len(prefix), islice(reader.store.scan(prefix), limit + 1)
    found = {key[at:]: decode(row) for key, row in rows}
    return None if len(found) > limit else found


def observations_among(
    reader: Reader, scope16: bytes, records: Collection[bytes]
) -> dict[bytes, ObservationGlance]:
    """Those of the records that are observations of the scope."""
    rows = reader.raw([keys.observation(scope16, record16) for record16 in records])
    return {
        record16: _observation(data)
        for record16, data in zip(records, rows, strict=True)
        if data is not None
    }
