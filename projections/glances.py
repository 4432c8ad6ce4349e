"""Rows read for what a view of many records needs, and no more (SPEC §8).

Rules
- A glance is its row, seen through fewer fields: the same bytes, decoded in a quarter of the time.
  Fields stand in the row's own order, those not needed are skipped as raw bytes; a test holds the
  names against `rows`.
- A glance may say "certainly so" or "look closer"; it is never what an answer is made of.
- A record that an index names and that is not there is damage (SPEC §5, "reads check what they
  serve").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from msgspec import Raw

from projections import keys
from projections.rows import Mark
from projections.state import Reader
from schemas.errors import StoreDamaged
from schemas.events import Value

T = TypeVar("T")


class EnvelopeGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Which event it is."""

    event_id: str


class ContentGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What an observation said; None if only a reference is kept."""

    envelope: EnvelopeGlance
    content: str | None


class ObservationGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An observation as far as its visibility goes; see `rows.ObservationRow`."""

    sequence: Raw
    recorded_at: int
    append: int
    adapter: Raw
    tier: Raw
    hash: Raw
    key_id: Raw
    quote_key: Raw
    event: ContentGlance | None
    risks: Raw
    deletions: tuple[Mark, ...]
    hiders: tuple[bytes, ...]


class WitnessGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How a premise was judged, and when; see `bodies.Witness`."""

    on_fact: bool
    source: Raw
    check: int
    start: Raw
    end: Raw
    recorded_at: int


class AssertionGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a fact says, and when it holds; see `events.Assertion`."""

    envelope: Raw
    fact_id: str
    entity: str
    attribute: str
    value: Value
    valid_from: int
    valid_to: int | None
    confidence: Raw
    derivation: Raw
    justifications: Raw
    supersedes: Raw
    expires_at: int | None


class FactGlance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A fact as far as its status and interval go; see `rows.FactRow`."""

    sequence: Raw
    recorded_at: int
    decided_at: int
    append: int
    partition: Raw
    offset: Raw
    decision: int
    reason: Raw
    flags: int
    tier: Raw
    adapter: Raw
    subject: Raw
    key_id: Raw
    event: AssertionGlance | None
    witnesses: tuple[tuple[WitnessGlance, ...], ...]
    risks: Raw
    sources: tuple[bytes, ...]
    supersedes: bytes
    entity_attribute: bytes
    idempotency: Raw
    content: Raw
    retractions: tuple[Mark, ...]
    deletions: tuple[Mark, ...]


_observation = msgspec.msgpack.Decoder(ObservationGlance).decode
_fact = msgspec.msgpack.Decoder(FactGlance).decode


def observation_glances(
    reader: Reader, scope16: bytes, records: Sequence[bytes]
) -> dict[bytes, ObservationGlance]:
    """Observations by record hash, in the order given. Raises `StoreDamaged`."""
    wanted = [keys.observation(scope16, record16) for record16 in records]
    return _glances(reader, records, wanted, _observation, "observation")


def fact_glances(
    reader: Reader, scope16: bytes, records: Sequence[bytes]
) -> dict[bytes, FactGlance]:
    """Facts by record hash, in the order given. Raises `StoreDamaged`."""
    wanted = [keys.fact(scope16, record16) for record16 in records]
    return _glances(reader, records, wanted, _fact, "fact")


def _glances(
    reader: Reader,
    records: Sequence[bytes],
    wanted: Sequence[bytes],
    decode: Callable[[bytes], T],
    what: str,
) -> dict[bytes, T]:
    found: dict[bytes, T] = {}
    for record16, data in zip(records, reader.raw(wanted), strict=True):
        if data is None:
            raise StoreDamaged(f"{what} {record16.hex()}")
        found[record16] = decode(data)
    return found
