"""A cluster whose topics were written to, cut or made anew by another hand (SPEC §3).

Kafka lets nobody change a record in place: what can be done is to write, to delete the beginning,
and to make a topic anew under its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway.application import Application
from mnemolog import Memory
from mnemolog.cluster import ClusterBackend, create_topics
from mnemolog.doors import EmbeddedDoor, now_micros
from projections.ports import Anchor
from schemas.checkpoints import CheckpointKey
from schemas.entry import Entry, parse_entry
from schemas.errors import Unavailable
from schemas.master import MasterKey
from tests.cluster.conftest import PARTITIONS, SCOPE, Cluster
from tests.tamper.site import ELSEWHERE, HERE, Site, chained, subject_of, successor

pytestmark = pytest.mark.kafka


@pytest.fixture
def told(cluster: Cluster) -> Cluster:
    """Something in each partition, and no worker any more."""
    cluster.worker()
    premise = {"observation": "seen", "quote": "Berlin"}
    seen: dict[str, object] = {"kind": "observation", "event_id": "seen", "content": "In Berlin."}
    fact: dict[str, object] = {
        "kind": "assertion",
        "event_id": "a",
        "fact_id": "f",
        "entity": "s",
        "attribute": "city",
        "value": "Berlin",
        "justifications": [{"premises": [premise]}],
    }
    scopes = [{**SCOPE, "subject": subject_of(partition)} for partition in range(PARTITIONS)]
    cluster.publish(*({**seen, "scope": scope} for scope in scopes))
    cluster.await_entries(PARTITIONS)
    cluster.publish(*({**fact, "scope": scope} for scope in scopes))
    cluster.await_entries(2 * PARTITIONS)
    cluster.stop()
    return cluster


@contextmanager
def gateway(cluster: Cluster, name: str = "gateway-0") -> Iterator[Memory]:
    """A gateway in this process, behind the Python door."""
    backend = ClusterBackend(cluster.installation, cluster.data / name)
    door: Any = EmbeddedDoor.__new__(EmbeddedDoor)
    door.backend = backend
    door.application = Application(backend, cluster.master, now_micros)
    try:
        yield Memory(door)
    finally:
        backend.close()


def write(cluster: Cluster, *values: bytes, partition: int = HERE) -> None:
    """Append to the ledger as any client could."""
    cluster.log.append(cluster.topics.ledger, partition, [(value, ()) for value in values])


def chain(cluster: Cluster, partition: int = HERE) -> list[Entry]:
    return cluster.entries(partition)


def make_ledger_anew(cluster: Cluster) -> None:
    """Delete the ledger's topic and create it again under its name."""
    for future in cluster.installation.kafka.admin.delete_topics([cluster.topics.ledger]).values():
        future.result()
    create_topics(cluster.bootstrap, PARTITIONS)
    cluster.log.close()
    cluster.log = cluster.installation.log(PARTITIONS)


WRITTEN: dict[str, tuple[Callable[[list[Entry]], bytes], str]] = {
    "no entry": (lambda entries: b"\1 no entry at all", "malformed"),
    "a false head": (lambda entries: successor(entries[-1], entries[0]), "body"),
    "a stranger": (
        lambda entries: successor(parse_entry(successor(entries[-1], entries[0])), entries[0]),
        "missing",
    ),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_what_another_hand_wrote_is_found_and_its_partitions_reads_stop(
    told: Cluster, written: str
) -> None:
    make, what = WRITTEN[written]
    with gateway(told) as memory:
        Site.check_reads(memory, set())
    write(told, make(chain(told)))
    with gateway(told) as memory:
        Site.check_reads(memory, {HERE})
        damage = memory.verify().damage
        assert [(one.partition, one.sequence, one.what) for one in damage] == [(HERE, 2, what)]
        Site.check_reads(memory, {HERE})


def test_a_resent_batch_and_a_beaten_writers_entry_are_no_damage(told: Cluster) -> None:
    entries = chain(told)
    rival = successor(entries[0], entries[1])
    write(told, *(entry.stored for entry in entries), rival)
    with gateway(told) as memory:
        found = memory.verify(deep=True)
        assert found.ok, found.damage
        assert [(one.partition, one.what, one.detail) for one in found.notices] == [
            (HERE, "ignored", "1 entries of beaten writers, 2 that came twice")
        ]
        Site.check_reads(memory, set())


def test_a_ledger_whose_beginning_was_deleted_is_found(told: Cluster) -> None:
    with gateway(told):
        pass
    told.log.truncate(told.topics.ledger, HERE, 1)
    for name in ("gateway-0", "gateway-1"):
        with gateway(told, name) as memory:
            Site.check_reads(memory, {HERE})
            first = memory.verify().damage[0]
            assert (first.partition, first.what) == (HERE, "truncated")
            assert first.detail == "the ledger's first 1 records are gone"


def test_a_ledger_made_anew_under_its_name_is_found_by_who_met_it_anchors_and_checkpoints(
    told: Cluster,
) -> None:
    kept: dict[int, list[bytes]] = {
        partition: [entry.stored for entry in chain(told, partition)]
        for partition in range(PARTITIONS)
    }
    with gateway(told) as memory:
        memory.checkpoint()
        assert memory.verify().ok
    make_ledger_anew(told)
    write(told, *kept[HERE][:1])
    write(told, *chained(kept[ELSEWHERE]), partition=ELSEWHERE)
    with pytest.raises(Unavailable, match="made anew"), gateway(told):
        pass
    with gateway(told, "gateway-1") as memory:
        damage = memory.verify().damage
        Site.check_reads(memory, {HERE, ELSEWHERE})
        for partition in range(PARTITIONS):
            found = {one.what: one.detail for one in damage if one.partition == partition}
            assert {"anchor", "another_log"} <= set(found)
            assert "checkpoint" in found["another_log"]


def test_anchors_that_were_forged_are_damage_and_late_ones_are_not(told: Cluster) -> None:
    anchoring = told.installation.anchoring(PARTITIONS, told.data / "hand")
    first = chain(told)[0]
    anchoring.anchors.write(HERE, {b"": Anchor(1, first.hash)})
    with gateway(told) as memory:
        assert memory.verify().ok
    anchoring.anchors.write(HERE, {b"": Anchor(5, first.hash)})
    with gateway(told, "gateway-1") as memory:
        Site.check_reads(memory, {HERE})
        (found,) = memory.verify().damage
        assert found.detail == "3 entries are missing: the anchor saw 5"
    told.installation.kafka.send(told.topics.anchors, HERE, [(b"\0partition", b"forged", ())])
    with gateway(told, "gateway-2") as memory:
        Site.check_reads(memory, {HERE})
        assert {one.what for one in memory.verify().damage} == {"anchor"}
    anchoring.close()


def test_the_checkpoints_topic_keeps_the_last_and_believes_only_the_installation(
    told: Cluster,
) -> None:
    with gateway(told) as memory:
        memory.checkpoint()
        made = memory.checkpoint()
        assert memory.verify(against=made).ok
        assert told.installation.checkpoints(PARTITIONS).all() == [made]
        forged = CheckpointKey(MasterKey(b"?" * 32)).sign(made.log, 0, made.partitions)
        value = forged.model_dump_json().encode()
        told.installation.kafka.send(told.topics.checkpoints, 0, [(made.log.encode(), value, ())])
        with pytest.raises(Unavailable, match="no checkpoint of this installation"):
            memory.verify()
