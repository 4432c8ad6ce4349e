"""A decision before it is chained: an entry's header without its place, key and predecessor."""

from __future__ import annotations

import msgspec

from projections.ports import LogRecord
from schemas.bodies import Body, RefusedBody
from schemas.entry import NO_FOLLOW_UP, NONE16, TARGET_NONE
from schemas.errors import Fault
from schemas.kinds import Decision, Kind, Reason, Tier


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an event stood in the intake."""

    kind: Kind
    partition: int
    offset: int
    append_ms: int


class Draft(msgspec.Struct, gc=False):
    """What `decide` and `settle` fill in and yield; field names are the header's."""

    place: Place
    decision: Decision
    reason: Reason
    body: Body
    flags: int = 0
    tier: Tier = Tier.UNTRUSTED
    target_type: int = TARGET_NONE
    follows: int = NO_FOLLOW_UP
    scope: bytes = NONE16
    subject: bytes = NONE16
    record: bytes = NONE16
    idempotency: bytes = NONE16
    content: bytes = NONE16
    target: bytes = NONE16
    supersedes: bytes = NONE16
    entity_attribute: bytes = NONE16
    adapter: bytes = NONE16
    sources: tuple[bytes, ...] = ()


def place_of(kind: Kind, record: LogRecord) -> Place:
    """The place of an intake record."""
    return Place(kind, record.partition, record.offset, record.append_ms)


def refused(
    place: Place, decision: Decision, reason: Reason, event_id: str, fault: Fault | None
) -> Draft:
    """An event that is not taken and leaves no trace in its scope."""
    return Draft(place, decision, reason, RefusedBody(event_id, place.kind, fault))
