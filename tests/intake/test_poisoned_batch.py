"""A batch damaged on the broker's disk: the worker stops with the place, and loses nothing (§2).

The broker checks a batch when it is produced and never again, so damage is met by who reads it.
"""

from __future__ import annotations

import struct
import uuid
from pathlib import Path
from typing import NamedTuple

import pytest

from mnemolog.cluster import create_topics, make_worker
from schemas.errors import Unavailable
from schemas.kinds import Decision, Kind
from tests.broker import OwnKafka
from tests.cluster.conftest import PARTITIONS, Cluster, until
from tests.intake.harness import ALICE

pytestmark = pytest.mark.kafka
HEADER = 61  # bytes of a record batch before its records (Kafka's message format 2)


class Batch(NamedTuple):
    """A record batch in a segment: first offset, place, size, codec number (0: none)."""

    offset: int
    at: int
    size: int
    codec: int


def batches(segment: bytes) -> list[Batch]:
    """Every batch of a segment."""
    found, at = [], 0
    while at < len(segment):
        offset, length = struct.unpack_from(">qi", segment, at)
        (attributes,) = struct.unpack_from(">h", segment, at + 21)
        found.append(Batch(offset, at, 12 + length, attributes & 7))
        at += 12 + length
    return found


def write(segment: Path, at: int, raw: bytes) -> None:
    """Overwrite bytes in the file that the broker has open."""
    with segment.open("r+b") as file:
        file.seek(at)
        file.write(raw)


def test_a_damaged_compressed_batch_stops_the_worker_with_its_place_until_it_is_mended(
    own_kafka: OwnKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka, bootstrap = own_kafka(1)
    monkeypatch.setenv("MNEMOLOG_TOPIC_PREFIX", f"p-{uuid.uuid4().hex[:10]}")
    create_topics(bootstrap, PARTITIONS)
    cluster = Cluster(bootstrap, tmp_path)
    topic = cluster.topics.intake[Kind.OBSERVATION]
    for number in range(3):
        cluster.publish(*observations(number))
    (segment,) = (kafka.directory / "node-1" / "data" / f"{topic}-{ALICE}").glob("*.log")
    stored = segment.read_bytes()
    poisoned = next(batch for batch in batches(stored) if batch.offset >= 5)
    assert poisoned.codec != 0
    place = poisoned.at + HEADER
    write(segment, place, b"\xff" * (poisoned.size - HEADER))

    for _ in range(2):
        with pytest.raises(Unavailable, match=f"offset {poisoned.offset}") as caught:
            make_worker(cluster.installation, cluster.data / "worker-0").run()
        assert caught.value.part == f"{topic}/{ALICE}"
        assert "restore" in caught.value.remedy
        assert len(cluster.entries(ALICE)) == poisoned.offset
    assert cluster.records(cluster.topics.rejections, ALICE) == []

    write(segment, place, stored[place : poisoned.at + poisoned.size])
    cluster.worker()
    try:
        entries = until(lambda: cluster.entries(ALICE), lambda found: len(found) == 30, 90)
    finally:
        cluster.stop()
    assert [entry.header.offset for entry in entries] == list(range(30))
    assert {entry.header.decision for entry in entries} == {Decision.ACCEPTED}


def observations(number: int) -> list[dict[str, object]]:
    """Ten that compress well."""
    return [
        {"kind": "observation", "event_id": f"o{number}-{n}", "content": f"{n} again " * 40}
        for n in range(10)
    ]
