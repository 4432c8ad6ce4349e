"""Straight-line readers agree with fastavro, on what is a record and on what it says (SPEC §2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.codec import READ_FAULTS, Codec, through_fastavro
from schemas.errors import InvalidEvent, Undecodable
from schemas.events import Actor, Envelope, Event, Retraction
from schemas.kinds import Kind
from schemas.scope import Scope
from schemas.straight import Reading, reading
from schemas.writers import current_schema, schema_text, writer_schema
from tests.schemas.generated import events

CODEC = Codec()
RETRACTION = Retraction(
    Envelope(
        "e", Scope("t", "n", "s"), "a", Actor("u", "user"), "p", 1_777_626_000_000_000, "k", ()
    ),
    "f",
    "no",
)
OCCURRED = bytes.fromhex("8090b0e4b9afa806")
START = 10
STRAIGHT = {kind: reading(kind, current_schema(kind)) for kind in Kind}
FASTAVRO = {kind: through_fastavro(writer_schema(kind, schema_text(kind))) for kind in Kind}


def taken(read: Reading, frame: bytes) -> Event | None:
    """The event, None if the frame is no record."""
    try:
        event, end = read(frame, START)
    except (*READ_FAULTS, Undecodable):
        return None
    return event if end == len(frame) else None


@given(events)
def test_the_same_event_is_read(of_kind: tuple[Kind, Event]) -> None:
    kind, event = of_kind
    frame = CODEC.encode(kind, event)
    assert taken(STRAIGHT[kind], frame) == taken(FASTAVRO[kind], frame) == event


@given(events, st.data())
def test_damaged_records_are_refused_by_both_or_say_the_same(
    of_kind: tuple[Kind, Event], data: st.DataObject
) -> None:
    kind, event = of_kind
    frame = bytearray(CODEC.encode(kind, event))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(START, len(frame) - 1))
        change = data.draw(st.sampled_from(("set", "cut", "insert")))
        byte = data.draw(st.integers(0, 255))
        if change == "set":
            frame[at] = byte
        elif change == "insert":
            frame.insert(at, byte)
        elif len(frame) > START + 1:
            del frame[at]
    straight, fast = taken(STRAIGHT[kind], bytes(frame)), taken(FASTAVRO[kind], bytes(frame))
    if straight is not None:
        assert repr(straight) == repr(fast)  # repr: NaN is not itself
    elif fast is not None:
        assert not written_so(kind, fast, bytes(frame))


def written_so(kind: Kind, event: Event, frame: bytes) -> bool:
    """Whether a writer would have made these bytes: an integer padded with zeros is not."""
    try:
        return CODEC.encode(kind, event) == frame
    except InvalidEvent:
        return False


@given(events)
def test_every_cut_is_refused(of_kind: tuple[Kind, Event]) -> None:
    kind, event = of_kind
    frame = CODEC.encode(kind, event)
    for size in range(START, len(frame)):
        assert taken(STRAIGHT[kind], frame[:size]) is None


def test_an_integer_of_more_than_64_bits_is_refused_however_long() -> None:
    frame = CODEC.encode(Kind.RETRACTION, RETRACTION)
    at = frame.index(OCCURRED)
    for padding in (b"\xff" * 9 + b"\x02", b"\xff" * 10 + b"\x01", b"\xff" * 200_000):
        longer = frame[:at] + padding + frame[at + len(OCCURRED) :]
        assert taken(STRAIGHT[Kind.RETRACTION], longer) is None
    most = frame[:at] + b"\xff" * 9 + b"\x01" + frame[at + len(OCCURRED) :]
    event = taken(STRAIGHT[Kind.RETRACTION], most)
    assert event is not None
    assert event.envelope.occurred_at == -(2**63)
