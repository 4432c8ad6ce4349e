"""What a body holds before sealing: msgpack of one struct, by decision (SPEC §3).

A body never has words of another record: a witness is source id, span, the source entry's hash and
a digest under the source's key. The one exception is declared: the quote of a premise whose source
has not come yet (`awaited`) stands in a body whose key is destroyed as soon as it is decided.
"""

from __future__ import annotations

from enum import IntEnum
from typing import cast

import msgspec

from schemas.entry import Header
from schemas.errors import Fault
from schemas.events import Assertion, Event, Observation
from schemas.kinds import Decision, Kind
from schemas.sealing import quote_key


class Check(IntEnum):
    """What is known of a premise. Numbers are part of the format."""

    PENDING = 0
    OK = 1
    NOT_FOUND = 2
    AMBIGUOUS = 3
    UNCHECKABLE = 4


class Witness(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A premise as judged: source (observation or fact) and, once checked, span and digest.

    `recorded_at` is the τ of the entry that checked it (0 while pending), `source_hash` the hash of
    the source's entry, `awaited` the quote while its source has not come.
    """

    on_fact: bool
    source: str
    check: int
    start: int | None
    end: int | None
    recorded_at: int
    source_hash: bytes | None
    digest: bytes | None
    awaited: str | None


Witnesses = tuple[tuple[Witness, ...], ...]


class ObservationBody(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An admitted observation; `risks` are the scan's flags.

    `quote_key` is never written: it is derived from the record key when a body is sealed or opened.
    """

    event: Observation
    risks: tuple[str, ...]
    quote_key: bytes = b""


class AssertionBody(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An assertion; `event.justifications` is empty, its judged premises are the `witnesses`."""

    event: Assertion
    witnesses: Witnesses
    risks: tuple[str, ...]


class EventBody(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Any other admitted event as msgpack of its own struct; a barrier's cutoff in ms, else 0."""

    event: msgspec.Raw
    cutoff_ms: int


class RefusedBody(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What remains of an event that was not taken, or whose content is not kept."""

    event_id: str
    kind: int
    fault: Fault | None


Body = ObservationBody | AssertionBody | EventBody | RefusedBody

_CONTENT_KEPT = {
    Decision.ACCEPTED,
    Decision.CANDIDATE,
    Decision.EVIDENCE_ONLY,
    Decision.AWAITING_APPROVAL,
    Decision.PARKED,
    Decision.QUARANTINED,
}
_encode = msgspec.msgpack.Encoder().encode
_decoders = {
    cls: msgspec.msgpack.Decoder(cls)
    for cls in (ObservationBody, AssertionBody, EventBody, RefusedBody)
}


def body_type(header: Header) -> type[Body]:
    """Which struct an entry's body is, from its header alone."""
    if header.decision not in _CONTENT_KEPT:
        return RefusedBody
    if header.kind == Kind.OBSERVATION:
        return ObservationBody
    if header.kind == Kind.ASSERTION:
        return AssertionBody
    return EventBody


def encode_body(body: Body) -> bytes:
    """Canonical bytes of a body."""
    if isinstance(body, ObservationBody):
        return _encode(ObservationBody(body.event, body.risks))
    return _encode(body)


def decode_body(header: Header, data: bytes) -> Body:
    """The body of an entry; raises `msgspec.MsgspecError` if the bytes do not fit the header."""
    try:
        return cast(Body, _decoders[body_type(header)].decode(data))
    except RecursionError:
        raise msgspec.DecodeError("nested too deep") from None


def with_quote_key(body: Body, record_key: bytes) -> Body:
    """An observation's body with its quote key; any other body as it is."""
    if isinstance(body, ObservationBody):
        return ObservationBody(body.event, body.risks, quote_key(record_key))
    return body


def event_body(event: Event, cutoff_ms: int = 0) -> EventBody:
    """An `EventBody` for a retraction, deletion, control, working set or note."""
    return EventBody(msgspec.Raw(_encode(event)), cutoff_ms)


def event_id_of(body: Body) -> str:
    """The event id that a body names."""
    if isinstance(body, ObservationBody | AssertionBody):
        return body.event.envelope.event_id
    if isinstance(body, EventBody):
        (envelope, *_) = msgspec.msgpack.decode(body.event)
        return str(envelope[0])
    return body.event_id
