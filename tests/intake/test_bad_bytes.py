"""Bytes that are no event, each as a record of its own: named, counted, and passed (SPEC §2)."""

from __future__ import annotations

import struct
import tracemalloc

import pytest

from schemas.codec import MAX_FRAME_BYTES, Codec
from schemas.events import Actor, Envelope, Note, Observation
from schemas.kinds import Kind, Reason
from schemas.principals import LOCAL
from schemas.scope import Scope
from tests.intake.harness import Intake

pytestmark = pytest.mark.kafka

ENVELOPE = Envelope(
    "bad-1", Scope("acme", "support", "alice"), LOCAL, Actor("alice", "user"), "support",
    1_777_626_000_000_000, "bad-1", (),
)  # fmt: skip
FRAME = Codec().encode(
    Kind.OBSERVATION, Observation(ENVELOPE, "hello", None, "text/plain", "normal", 0.5)
)
HEAD = 10  # single-object marker and fingerprint
HUGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # 2**63 - 1


def test_a_record_without_a_value_is_dead_lettered(intake: Intake) -> None:
    assert intake.dead_letter(None).reason == Reason.NULL_VALUE


def test_a_record_that_begins_with_another_byte_is_dead_lettered(intake: Intake) -> None:
    told = intake.dead_letter(b"\x30" + FRAME)
    assert told.reason == Reason.UNDECODABLE
    assert "framing" in told.rejection["detail"]


def test_an_unknown_fingerprint_is_dead_lettered_by_its_name(intake: Intake) -> None:
    told = intake.dead_letter(b"\xc3\x01" + b"\xab" * 8 + FRAME[HEAD:])
    assert told.reason == Reason.UNKNOWN_SCHEMA
    assert "ab" * 8 in told.rejection["detail"]


def test_a_schema_id_without_a_registry_is_dead_lettered_by_its_number(intake: Intake) -> None:
    told = intake.dead_letter(b"\x00" + struct.pack(">I", 77) + FRAME[HEAD:])
    assert told.reason == Reason.UNKNOWN_SCHEMA
    assert "77" in told.rejection["detail"]


def test_an_event_of_another_topics_kind_is_dead_lettered(intake: Intake) -> None:
    told = intake.dead_letter(FRAME, Kind.RETRACTION)
    assert told.reason == Reason.UNKNOWN_SCHEMA


def test_avro_cut_at_every_length_is_dead_lettered(intake: Intake) -> None:
    """All lengths in one batch, a good event after them."""
    topic = intake.cluster.topics.intake[Kind.OBSERVATION]
    offsets = [intake.send(FRAME[:size], Kind.OBSERVATION, []) for size in range(1, len(FRAME))]
    good = intake.good()
    assert intake.entry(Kind.OBSERVATION, good).header.reason == Reason.NONE
    entries = intake.entries()
    assert {entries[Kind.OBSERVATION, at].header.reason for at in offsets} == {Reason.UNDECODABLE}
    told = [intake.rejection(topic, at)["detail"] for at in (offsets[0], offsets[-1])]
    assert all(told)
    assert (len(offsets), len(set(offsets))) == (len(FRAME) - 1, len(FRAME) - 1)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (FRAME + b"\x00", Reason.UNDECODABLE),
        (FRAME + FRAME[HEAD:], Reason.UNDECODABLE),
        (FRAME.replace(b"\x0ahello", b"\x0ah\xff\xfelo"), Reason.UNDECODABLE),
        (FRAME.replace(b"\x0ahello", b"\x0ah\xed\xa0\x80o"), Reason.UNDECODABLE),
        (FRAME.replace(b"alice\x00", b"alice\x0a"), Reason.UNKNOWN_SYMBOL),
        (FRAME.replace(b"\x02\x0ahello", b"\x04\x0ahello"), Reason.UNDECODABLE),
    ],
    ids=["a byte more", "a record more", "no UTF-8", "a surrogate", "no symbol", "no branch"],
)
def test_a_damaged_record_is_dead_lettered(intake: Intake, raw: bytes, reason: Reason) -> None:
    assert raw != FRAME
    assert intake.dead_letter(raw).reason == reason


@pytest.mark.parametrize(
    "raw",
    [
        FRAME[:HEAD] + HUGE + FRAME[HEAD + 1 :],
        FRAME[:HEAD] + b"\x80" * 9 + b"\x02" + FRAME[HEAD + 1 :],
        FRAME.replace(b"bad-1\x00\x02", b"bad-1" + HUGE + b"\x02"),
        FRAME.replace(b"bad-1\x00\x02", b"bad-1\x01" + HUGE + b"\x02"),
        FRAME[:HEAD] + b"\xff" * (MAX_FRAME_BYTES - HEAD),
        FRAME[:HEAD] + b"\x80" * (MAX_FRAME_BYTES - HEAD),
    ],
    ids=["string", "string of 2**62", "items", "size of a block", "no end of ff", "no end of 80"],
)
def test_a_length_beyond_the_record_takes_no_memory_and_no_time(intake: Intake, raw: bytes) -> None:
    assert raw != FRAME
    tracemalloc.start()
    told = intake.dead_letter(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told.reason == Reason.UNDECODABLE
    assert peak < 20 * MAX_FRAME_BYTES


@pytest.mark.parametrize(
    "bits",
    [b"\xff" * 9 + b"\x7f", b"\x80" * 10 + b"\x01", b"\xfe" + b"\xff" * 9 + b"\x01"],
    ids=["70 bits", "eleven bytes", "2**69"],
)
def test_an_integer_past_64_bits_is_dead_lettered(intake: Intake, bits: bytes) -> None:
    assert intake.dead_letter(with_time(bits)).reason == Reason.UNDECODABLE


@pytest.mark.parametrize(
    "micros",
    [2**62, 2**63 - 1, -(2**63), -62_135_596_800_000_001],
    ids=["2**62", "the largest", "the smallest", "before year 1"],
)
def test_a_time_out_of_range_is_refused_by_its_field(intake: Intake, micros: int) -> None:
    told = intake.rejected(with_time(zigzag(micros)))
    assert told.reason == Reason.INVALID
    assert told.rejection["field"] == "occurred_at"
    assert told.rejection["event_id"] == "bad-1"


def test_a_number_written_longer_than_it_needs_is_read_as_it_is(intake: Intake) -> None:
    """Avro does not forbid it; the signature covers the bytes as they are."""
    longer = zigzag(ENVELOPE.occurred_at)
    raw = with_time(longer[:-1] + bytes([longer[-1] | 0x80, 0]))
    assert intake.admitted(raw.replace(b"bad-1", b"odd-1")).header.reason == Reason.NONE


def test_json_nested_beyond_its_limit_is_refused_by_its_field(intake: Intake) -> None:
    for depth in (33, 100_000):
        payload = '{"a":' * depth + "1" + "}" * depth
        raw = Codec().encode(Kind.OUTCOME, Note(ENVELOPE, f"deep-{depth}", payload))
        told = intake.rejected(raw, Kind.OUTCOME)
        assert told.reason == Reason.INVALID
        assert told.rejection["field"] == "payload"
        assert "32" in told.rejection["detail"] + told.rejection["remedy"]


def zigzag(number: int) -> bytes:
    """An Avro long."""
    bits = (number << 1) ^ (number >> 63)
    found = bytearray()
    while bits > 127:
        found.append(bits & 127 | 128)
        bits >>= 7
    return bytes([*found, bits])


def with_time(raw: bytes) -> bytes:
    """The frame with other bytes where its time stands."""
    time = zigzag(ENVELOPE.occurred_at)
    assert FRAME.count(time) == 1
    return FRAME.replace(time, raw)
