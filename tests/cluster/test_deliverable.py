"""A wait at the gateway: for what will come, never for control records, and no reader for each."""

from __future__ import annotations

import pytest

from gateway.backend import Reach
from mnemolog.cluster import ClusterBackend
from mnemolog.cluster.deliverable import Deliverable
from projections.kafka_log import KafkaLog
from schemas.errors import ViewBehind
from schemas.kinds import Kind
from tests.cluster.conftest import PARTITIONS, Cluster

pytestmark = pytest.mark.kafka


def test_records_that_are_dropped_while_they_are_looked_for_are_still_waited_for(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = cluster.topics.intake[Kind.DELETION]
    for _ in range(2):
        cluster.send(b"a deletion", Kind.DELETION)
    look = KafkaLog.pending

    def dropped(log: KafkaLog, *place: object) -> bool:
        cluster.log.truncate(topic, 0, 2)  # as a worker does that has just admitted them
        return look(log, *place)  # type: ignore[arg-type]

    monkeypatch.setattr(KafkaLog, "pending", dropped)
    goal = Reach(0, {Kind.DELETION: 2})
    found = Deliverable(cluster.installation, PARTITIONS)
    assert not found.look(0, goal, {})
    assert found.known(0, goal) == goal


def test_a_record_before_dropped_ones_is_not_taken_for_a_control_record(cluster: Cluster) -> None:
    topic = cluster.topics.intake[Kind.DELETION]
    cluster.send(b"a deletion", Kind.DELETION)
    cluster.log.truncate(topic, 0, 1)
    goal = Reach(0, {Kind.DELETION: 1})
    found = Deliverable(cluster.installation, PARTITIONS)
    assert not found.look(0, goal, {})
    assert found.known(0, goal) == goal


def test_an_ordinary_wait_reads_no_intake(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.worker()
    cluster.publish({"kind": "observation", "event_id": "o1", "content": "hello"})
    cluster.await_entries(1)
    backend = ClusterBackend(cluster.installation, cluster.data / "gateway-0")
    try:
        monkeypatch.setattr(
            Deliverable, "look", lambda *_: pytest.fail("an ordinary wait looked at the intake")
        )
        for partition in range(PARTITIONS):
            backend.reach(partition, backend.ends(partition, Kind.OBSERVATION), 30)
    finally:
        backend.close()


def test_a_wait_that_is_in_vain_ends_at_its_time(cluster: Cluster) -> None:
    cluster.send(b"never admitted", Kind.DELETION)
    backend = ClusterBackend(cluster.installation, cluster.data / "gateway-0")
    try:
        with pytest.raises(ViewBehind):
            backend.reach(0, backend.ends(0, Kind.DELETION), 0.1)
    finally:
        backend.close()
