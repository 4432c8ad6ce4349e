"""Events too large: refused where they are made, by size and limit, and passed where they are read.

The broker measures a batch as it is stored, so a record that compresses well reaches the worker at
any size.
"""

from __future__ import annotations

import random

import pytest
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from msgspec.structs import replace

from schemas.codec import MAX_FRAME_BYTES, Codec
from schemas.errors import InvalidEvent, Unavailable
from schemas.events import Event, Observation
from schemas.kinds import Decision, Kind, Reason
from schemas.limits import CONTENT_BYTES
from schemas.principals import LOCAL
from schemas.topics import INTAKE_MAX_BYTES
from tests.cluster.conftest import PARTITIONS
from tests.intake.harness import ALICE, Intake

pytestmark = pytest.mark.kafka


def observation(intake: Intake, size: int) -> tuple[Kind, Event]:
    """One whose frame has this size, of letters that do not compress."""
    kind, empty = intake.event(content="")
    assert isinstance(empty, Observation)
    left = size - len(Codec().encode(kind, empty)) - 3  # a longer content has a longer length
    letters = random.Random(size).choices("abcdefghijklmnopqrstuvwxyz0123456789-_", k=left)
    return kind, replace(empty, content="".join(letters))


def test_an_event_of_two_mib_is_refused_by_its_size_before_anything_is_sent(intake: Intake) -> None:
    topic = intake.cluster.topics.intake[Kind.OBSERVATION]
    before = intake.cluster.log.end(topic, ALICE)
    publisher = intake.cluster.installation.publisher(LOCAL, PARTITIONS)
    large = observation(intake, 2 * 1024 * 1024)
    with pytest.raises(InvalidEvent) as caught:
        publisher.publish([intake.event(), large])
    publisher.close()
    fault = caught.value.fault
    assert (fault.code, fault.limit) == ("oversize", str(MAX_FRAME_BYTES))
    assert f"{2 * 1024 * 1024} bytes" in fault.detail
    assert "content_ref" in fault.remedy
    assert intake.cluster.log.end(topic, ALICE) == before


def test_the_largest_frame_passes_the_broker_and_is_judged_by_its_content(intake: Intake) -> None:
    publisher = intake.cluster.installation.publisher(LOCAL, PARTITIONS)
    (placed,) = publisher.publish([observation(intake, MAX_FRAME_BYTES)])
    publisher.close()
    entry = intake.entry(placed.kind, placed.offset)
    assert (entry.header.decision, entry.header.reason) == (Decision.REJECTED, Reason.INVALID)
    told = intake.rejection(intake.cluster.topics.intake[placed.kind], placed.offset)
    assert told["field"] == "content"
    assert f"{CONTENT_BYTES}" in told["detail"] + told["remedy"] + told.get("limit", "")


@pytest.mark.parametrize("size", [MAX_FRAME_BYTES + 1, 2 * 1024 * 1024, 8_000_000])
def test_a_record_larger_than_the_limit_is_dead_lettered_with_size_and_limit(
    intake: Intake, size: int
) -> None:
    told = intake.dead_letter((b"\xc3\x01" + Codec().encode(*intake.event())[2:]).ljust(size, b"x"))
    assert told.reason == Reason.OVERSIZE
    assert f"{size} bytes" in told.rejection["detail"]
    assert str(MAX_FRAME_BYTES) in told.rejection["detail"]


def test_a_topic_that_takes_less_than_our_limit_is_named(intake: Intake) -> None:
    topic = intake.cluster.topics.intake[Kind.OBSERVATION]
    set_limit(intake, topic, 1_000_000)
    publisher = intake.cluster.installation.publisher(LOCAL, PARTITIONS)
    try:
        with pytest.raises(Unavailable, match=str(INTAKE_MAX_BYTES)) as caught:
            publisher.publish([observation(intake, 1_500_000)])
    finally:
        publisher.close()
        set_limit(intake, topic, INTAKE_MAX_BYTES)
    assert caught.value.part == f"topic {topic}"
    assert "1500" in caught.value.detail
    assert "topics check" in caught.value.remedy


def set_limit(intake: Intake, topic: str, size: int) -> None:
    """Alter a topic's max.message.bytes."""
    name, operation = "max.message.bytes", AlterConfigOpType.SET
    entry = ConfigEntry(name, str(size), incremental_operation=operation)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = intake.cluster.installation.kafka.admin
    for future in admin.incremental_alter_configs([resource]).values():
        future.result()
