"""The codec (SPEC §2): the writer's schema always; every other byte string is a named refusal."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.codec import MAX_FRAME_BYTES, Codec, fingerprint
from schemas.errors import InvalidEvent, Unavailable, Undecodable
from schemas.events import Actor, Control, Envelope, Event, Observation, Retraction
from schemas.kinds import Kind
from schemas.scope import Scope
from schemas.writers import schema_text
from tests.schemas.generated import events

CODEC = Codec()
CODES = {"undecodable", "unknown_schema", "unknown_symbol", "null_value", "oversize"}
ENVELOPE = Envelope(
    "e1", Scope("acme", "support", "alice"), "crm", Actor("alice", "user"), "support",
    1_777_626_000_000_000, "k1", ("occurred_at",),
)  # fmt: skip
RETRACTION = Retraction(ENVELOPE, "f1", "no")
OBSERVATION = Observation(ENVELOPE, "hé", None, "text/plain", "secret", 0.5)
GOLDEN_RETRACTION = (
    "c301e7ec808f766463e7"  # single-object marker, fingerprint
    "046531" "0861636d65" "0e737570706f7274" "0a616c696365" "086d61696e"  # id, scope
    "0663726d" "0a616c69636500" "0e737570706f7274"  # adapter, actor, purpose
    "8090b0e4b9afa806" "046b31"  # occurred_at, idempotency key
    "02166f636375727265645f617400" "02"  # filled, schema version
    "046631" "046e6f"  # fact id, reason
)  # fmt: skip
FRAME = bytes.fromhex(GOLDEN_RETRACTION)


def refusal(kind: Kind, data: bytes | None, codec: Codec = CODEC) -> str:
    """The code with which a frame is refused; the text is the same each time."""
    with pytest.raises(Undecodable) as first:
        codec.decode(kind, data)
    with pytest.raises(Undecodable) as second:
        codec.decode(kind, data)
    assert str(first.value) == str(second.value)
    return first.value.code


def decoded_or_refused(kind: Kind, data: bytes, codec: Codec = CODEC) -> None:
    """Whatever the bytes are: an event, or `Undecodable` with a known code."""
    code = "undecodable"
    try:
        codec.decode(kind, data)
    except Undecodable as error:
        code = error.code
    assert code in CODES


class Shelf:
    """A registry in memory that counts what it is asked."""

    def __init__(self, schemas: dict[int, str]) -> None:
        self.schemas = schemas
        self.asked: list[int] = []

    def schema(self, schema_id: int) -> str | None:
        self.asked.append(schema_id)
        return self.schemas.get(schema_id)


def test_a_retraction_has_golden_bytes() -> None:
    assert CODEC.encode(Kind.RETRACTION, RETRACTION).hex() == GOLDEN_RETRACTION
    assert CODEC.decode(Kind.RETRACTION, FRAME) == RETRACTION


@given(events)
def test_every_event_comes_back_from_both_frames(given_event: tuple[Kind, Event]) -> None:
    kind, event = given_event
    data = CODEC.encode(kind, event)
    assert data[:10] == b"\xc3\x01" + fingerprint(kind)
    assert CODEC.decode(kind, data) == event
    confluent = Codec(Shelf({7: schema_text(kind)}), {kind: 7})
    framed = confluent.encode(kind, event)
    assert framed == b"\x00\x00\x00\x00\x07" + data[10:]
    assert confluent.decode(kind, framed) == event
    assert confluent.decode(kind, data) == event


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (None, "null_value"),
        (b"", "undecodable"),
        (b"0not avro", "undecodable"),
        (b"\xc3\x01", "undecodable"),
        (b"\x00\x00\x00", "undecodable"),
        (b"\xc3\x01" + bytes(8) + FRAME[10:], "unknown_schema"),
        (b"\x00\x00\x00\x00\x09" + FRAME[10:], "unknown_schema"),
        (FRAME + b"\x00", "undecodable"),
        (FRAME.replace(b"alice\x00", b"alice\x0a"), "unknown_symbol"),
        (FRAME.replace(b"alice\x00", b"alice\x01"), "unknown_symbol"),
        (FRAME.replace(b"\x04f1", b"\x04\xff\xfe"), "undecodable"),
        (FRAME.ljust(MAX_FRAME_BYTES + 1, b"\x00"), "oversize"),
    ],
)
def test_bad_frames_are_refused_by_name(data: bytes | None, code: str) -> None:
    assert refusal(Kind.RETRACTION, data) == code


def test_a_frame_of_another_kind_is_refused() -> None:
    assert refusal(Kind.DELETION, FRAME) == "unknown_schema"


def test_no_number_counts_from_the_end_of_a_list() -> None:
    """fastavro reads symbol -1 as the last symbol and branch -1 as the last branch."""
    data = CODEC.encode(Kind.OBSERVATION, OBSERVATION)
    assert data.endswith(b"\x02\x06h\xc3\xa9\x00\x14text/plain\x06" + data[-8:])
    last_symbol = data[:-9] + b"\x01" + data[-8:]
    assert refusal(Kind.OBSERVATION, last_symbol) == "unknown_symbol"
    last_branch = data.replace(b"\x02\x06h\xc3\xa9", b"\x01\x06h\xc3\xa9")
    assert refusal(Kind.OBSERVATION, last_branch) == "undecodable"
    no_branch = data.replace(b"\x02\x06h\xc3\xa9", b"\x08\x06h\xc3\xa9")
    assert refusal(Kind.OBSERVATION, no_branch) == "undecodable"


@given(events, st.data())
def test_no_prefix_of_a_frame_is_an_event(
    given_event: tuple[Kind, Event], data: st.DataObject
) -> None:
    kind, event = given_event
    frame = CODEC.encode(kind, event)
    cut = data.draw(st.integers(0, len(frame) - 1))
    assert refusal(kind, frame[:cut]) == "undecodable"


@given(events, st.data())
def test_flipped_bits_give_an_event_or_a_refusal(
    given_event: tuple[Kind, Event], data: st.DataObject
) -> None:
    kind, event = given_event
    frame = bytearray(CODEC.encode(kind, event))
    for position in data.draw(st.lists(st.integers(0, len(frame) * 8 - 1), max_size=4)):
        frame[position // 8] ^= 1 << position % 8
    decoded_or_refused(kind, bytes(frame))


@given(st.sampled_from(Kind), st.binary(max_size=300))
@example(Kind.ASSERTION, b"\x80" * 300)
@example(Kind.ASSERTION, b"\xff" * 9 + b"\x01" + b"\x00" * 100)
def test_arbitrary_bytes_give_an_event_or_a_refusal(kind: Kind, body: bytes) -> None:
    decoded_or_refused(kind, body)
    decoded_or_refused(kind, b"\xc3\x01" + fingerprint(kind) + body)
    shelf = Codec(Shelf({1: schema_text(kind)}))
    decoded_or_refused(kind, b"\x00\x00\x00\x00\x01" + body, shelf)
    decoded_or_refused(kind, b"\x00" + body, shelf)


HUGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # 2**63 - 1


@pytest.mark.parametrize(
    "data",
    [
        FRAME[:10] + HUGE + FRAME[13:],  # the length of a string
        FRAME.replace(b"\x02\x16occurred_at", HUGE + b"\x16occurred_at"),  # a count of items
        b"\xc3\x01" + fingerprint(Kind.OBSERVATION) + HUGE * 20,
    ],
)
def test_a_length_beyond_the_frame_allocates_nothing(data: bytes) -> None:
    refusal(Kind.RETRACTION, FRAME[:-1])  # schemas are parsed
    tracemalloc.start()
    refusal(Kind.RETRACTION, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def without_registry() -> Codec:
    return Codec()


def with_other_schema() -> Codec:
    return Codec(Shelf({9: schema_text(Kind.DELETION)}))


def with_broken_schema() -> Codec:
    return Codec(Shelf({9: '{"type": "record"'}))


@pytest.mark.parametrize("codec", [without_registry, with_other_schema, with_broken_schema])
def test_an_id_without_a_usable_schema_is_refused(codec: Callable[[], Codec]) -> None:
    data = b"\x00\x00\x00\x00\x09" + FRAME[10:]
    assert refusal(Kind.RETRACTION, data, codec()) == "unknown_schema"


def test_a_schema_is_fetched_once_and_a_missing_one_asked_for_again() -> None:
    shelf = Shelf({})
    codec = Codec(shelf)
    data = b"\x00\x00\x00\x00\x09" + FRAME[10:]
    assert refusal(Kind.RETRACTION, data, codec) == "unknown_schema"
    assert shelf.asked == [9, 9]
    shelf.schemas[9] = schema_text(Kind.RETRACTION)
    assert codec.decode(Kind.RETRACTION, data) == RETRACTION
    assert codec.decode(Kind.RETRACTION, data) == RETRACTION
    assert shelf.asked == [9, 9, 9]


def test_a_registry_that_is_away_judges_no_event() -> None:
    class Away:
        def schema(self, schema_id: int) -> str | None:
            raise Unavailable("schema registry", "no answer", "start it")

    with pytest.raises(Unavailable):
        Codec(Away()).decode(Kind.RETRACTION, b"\x00\x00\x00\x00\x09" + FRAME[10:])


@pytest.mark.parametrize(
    ("kind", "event", "code"),
    [
        (Kind.RETRACTION, Retraction(ENVELOPE, "f1", "\ud83d"), "invalid"),
        (Kind.CONTROL, Control(ENVELOPE, "no such", "fact", "f1", ""), "invalid"),
        (Kind.RETRACTION, Retraction(ENVELOPE, "f1", "x" * MAX_FRAME_BYTES), "oversize"),
    ],
)
def test_what_cannot_be_written_is_the_callers_fault(kind: Kind, event: Event, code: str) -> None:
    with pytest.raises(InvalidEvent) as caught:
        CODEC.encode(kind, event)
    assert caught.value.fault.code == code
    assert caught.value.fault.remedy
