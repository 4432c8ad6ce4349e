"""Workers on a real broker: nothing lost, nothing doubled, nothing forked (SPEC §3)."""

from __future__ import annotations

import json
import random
import signal

import pytest

from mnemolog.anchoring import Anchoring
from mnemolog.cluster import make_worker
from processors.admission import Admission
from producers.builder import EventBuilder, quote
from producers.kafka import KafkaPublisher
from projections.anchors import MemoryAnchors
from projections.follower import Follower
from projections.kafka_anchors import KafkaAnchors
from projections.kv_memory import MemoryStore
from projections.log_memory import MemoryLog
from projections.vault import MemoryVault
from schemas.bodies import event_id_of
from schemas.errors import Unavailable
from schemas.kinds import Decision, Kind, Reason, Role, Tier
from schemas.registry import Grant
from schemas.scope import Scope, partition_of
from schemas.sealing import SeededKeys
from schemas.signing import Ed25519Signer, HmacSigner
from tests.cluster.conftest import PARTITIONS, SCOPE, Cluster, until

pytestmark = pytest.mark.kafka
ALICE = partition_of(Scope("acme", "support", "alice"), PARTITIONS)


def story(count: int, seed: int = 7) -> list[dict[str, object]]:
    """Observations, assertions that quote them (some too early), retractions, deletions."""
    rng = random.Random(seed)
    events: list[dict[str, object]] = []
    for n in range(count):
        subject = {**SCOPE, "subject": f"s{n % 5}"}
        observation: dict[str, object] = {
            "kind": "observation",
            "event_id": f"o{n}",
            "scope": subject,
            "content": f"number {n} is {rng.choice(('red', 'blue'))}",
        }
        assertion: dict[str, object] = {
            "kind": "assertion",
            "event_id": f"a{n}",
            "fact_id": f"f{n}",
            "scope": subject,
            "entity": f"number {n % 7}",
            "attribute": "color",
            "value": "red",
            "justifications": [{"premises": [{"observation": f"o{n}", "quote": f"number {n}"}]}],
        }
        pair = [observation, assertion]
        events += pair if rng.random() < 0.7 else pair[::-1]
        if rng.random() < 0.2:
            events.append(
                {"kind": "retraction", "event_id": f"r{n}", "scope": subject, "fact_id": f"f{n}"}
            )
        if rng.random() < 0.1:
            target = {"observation": f"o{n}"}
            events.append(
                {"kind": "deletion", "event_id": f"d{n}", "scope": subject, "target": target}
            )
    return events


def intake_places(cluster: Cluster) -> list[tuple[int, int, int]]:
    """(partition, kind, offset) of each entry that answers an intake record first."""
    return [
        (partition, entry.header.topic, entry.header.offset)
        for partition in range(PARTITIONS)
        for entry in cluster.entries(partition)
        if entry.header.follows == 2**64 - 1
    ]


def test_bad_records_are_dead_lettered_and_the_next_good_one_is_admitted(cluster: Cluster) -> None:
    cluster.worker()
    bad = [
        (cluster.send(raw, partition=ALICE), reason)
        for raw, reason in (
            (b"\x30garbage", Reason.UNDECODABLE),
            (b"\x00\x00\x00\x00\x09x", Reason.UNKNOWN_SCHEMA),
            (b"\xc3\x01\x00\x00\x00\x00\x00\x00\x00\x00", Reason.UNKNOWN_SCHEMA),
            (None, Reason.NULL_VALUE),
        )
    ]
    cluster.publish({"kind": "observation", "event_id": "good", "content": "hello"})
    entries = cluster.await_entries(5)
    assert [(e.header.offset, e.header.reason) for e in entries[:4]] == bad
    assert all(e.header.decision == Decision.DEAD_LETTERED for e in entries[:4])
    assert entries[4].header.decision == Decision.ACCEPTED
    told = [
        json.loads(record.value or b"")
        for record in cluster.records(cluster.topics.rejections, ALICE)
    ]
    assert [(one["topic"], one["partition"], one["offset"]) for one in told] == [
        (cluster.topics.intake[Kind.OBSERVATION], ALICE, offset) for offset, _ in bad
    ]
    assert [one["code"] for one in told] == [reason.code for _, reason in bad]


def test_a_producer_of_its_own_signs_with_its_secret_or_its_ed25519_key(
    cluster: Cluster,
) -> None:
    registry = cluster.installation.registry_file
    pair = Ed25519Signer("edna", b"e" * 32)
    grants = [Grant("acme", "*", "*")]
    issued = registry.add("crm", [Role.WRITER], grants, Tier.SERVICE, with_secret=True)
    registry.add("edna", [Role.WRITER], grants, Tier.USER, ed25519_public=pair.public)
    assert issued.secret is not None
    cluster.worker()
    scope = Scope("acme", "support", "alice")
    for signer in (HmacSigner("crm", issued.secret), pair, HmacSigner("crm", b"?" * 32)):
        publisher = KafkaPublisher(
            cluster.installation.settings.client(), cluster.topics, signer, PARTITIONS
        )
        builder = EventBuilder(signer.name, scope)
        seen = builder.observation("I moved to Berlin.", actor="alice")
        fact = builder.assertion("alice", "city", "Berlin", [quote(seen, "Berlin")])
        publisher.publish([seen, fact])
        publisher.close()
    firsts = until(
        lambda: [e for e in cluster.entries(ALICE) if e.header.follows == 2**64 - 1],
        lambda found: len(found) >= 6,
    )
    refused = [e for e in firsts if e.header.reason == Reason.UNAUTHENTICATED]
    assert len(firsts) == 6
    assert len(refused) == 2


def test_two_workers_share_the_partitions(cluster: Cluster) -> None:
    one, two = cluster.worker("worker-0"), cluster.worker("worker-1")
    until(lambda: (one.partitions, two.partitions), lambda p: len(p[0]) == len(p[1]) == 1)
    events = story(40)
    cluster.publish(*events)
    cluster.await_entries(len(events))
    assert len(set(intake_places(cluster))) == len(intake_places(cluster)) == len(events)


def test_kill_9_in_mid_batch_neither_loses_nor_doubles(cluster: Cluster) -> None:
    events = story(400)
    first = cluster.process("worker")
    cluster.publish(*events[: len(events) // 2])
    cluster.await_entries(50)
    cluster.publish(*events[len(events) // 2 :])
    first.send_signal(signal.SIGKILL)
    first.wait()
    cluster.worker("worker-1")
    places = until(lambda: intake_places(cluster), lambda found: len(set(found)) >= len(events), 60)
    assert len(places) == len(set(places)) == len(events)
    cluster.stop()
    for number in range(PARTITIONS):
        follower = fresh_follower(cluster, number)
        follower.catch_up()
        assert follower.checkpoint().count == len(cluster.entries(number))


def fresh_follower(cluster: Cluster, number: int) -> Follower:
    """A follower with the cluster's keys and an empty store in memory."""
    from threading import RLock

    installed = cluster.installation
    follower = installed.follower(
        number, PARTITIONS, cluster.data / f"fresh-{number}", lock=RLock(), writer=False
    )
    follower.store.close()
    return Follower(
        number, follower.log, follower.ledger, MemoryStore(), follower.vault, follower.hasher
    )


def test_a_rival_that_ignores_the_group_cannot_fork_the_ledger(cluster: Cluster) -> None:
    owner = cluster.worker("worker-0", keep_intake=True)
    until(lambda: owner.partitions, lambda held: len(held) == PARTITIONS)
    rival = make_worker(cluster.installation, cluster.data / "rival", keep_intake=True)
    taken = [rival._open_partition(number) for number in range(PARTITIONS)]
    events = story(50)
    for at in range(0, len(events), 15):
        cluster.publish(*events[at : at + 15])
        for number, owned in enumerate(taken):
            records = [
                record
                for topic in cluster.topics.intake.values()
                for record in cluster.records(topic, number)
            ]
            owned.admission.admit(sorted(records, key=lambda record: record.append_ms))
    cluster.await_entries(len(events))
    for owned in taken:
        owned.close()
    rival._consumer.close()
    places = intake_places(cluster)
    assert len(places) == len(set(places)) == len(events)
    cluster.stop()
    for number in range(PARTITIONS):
        follower = fresh_follower(cluster, number)
        follower.catch_up()
        assert follower.checkpoint().count == len(cluster.entries(number))


def test_the_recorded_intake_gives_the_same_bytes_embedded(cluster: Cluster) -> None:
    """SPEC §3: same recorded intake, clock and keys, the same ledger in every runtime."""
    cluster.worker(keep_intake=True, key_source=SeededKeys(b"both"))
    one = [{**event, "scope": SCOPE} for event in story(60)]
    cluster.publish(*one)
    cluster.await_entries(len(one))
    cluster.stop()
    recorded = cluster.entries(ALICE)
    intake = {
        (cluster.topics.kind_of[record.topic], record.offset): record
        for topic in cluster.topics.intake.values()
        for record in cluster.records(topic, ALICE)
    }
    times = [entry.header.recorded_at for entry in recorded]
    keys = SeededKeys(b"both")

    def clock() -> int:
        """The recorded time of the entry that is made next: each draws one key."""
        return times[min(keys.drawn, len(times) - 1)]

    log = MemoryLog(PARTITIONS, lambda: 0)
    follower = Follower(
        ALICE, log, cluster.topics.ledger, MemoryStore(), MemoryVault(), cluster.installation.hasher
    )
    admission = Admission(
        follower,
        cluster.topics,
        cluster.installation.codec,
        keys,
        clock,
        cluster.installation.rules,
    )
    for entry in recorded:
        if entry.header.follows == 2**64 - 1:
            admission.admit([intake[Kind(entry.header.kind), entry.header.offset]])
    again = [record.value for record in log.read(cluster.topics.ledger, ALICE, 0, 10_000)]
    assert again == [entry.stored for entry in recorded]


def test_admitted_intake_is_dropped_and_a_gap_stops_the_worker(cluster: Cluster) -> None:
    worker = cluster.worker()
    cluster.publish({"kind": "observation", "event_id": "o1", "content": "hello"})
    topic = cluster.topics.intake[Kind.OBSERVATION]
    until(lambda: cluster.log.start(topic, ALICE), lambda start: start == 1)
    worker.stop()
    cluster.stop()
    cluster.publish({"kind": "observation", "event_id": "o2", "content": "never admitted"})
    cluster.log.truncate(topic, ALICE, 2)
    second = make_worker(cluster.installation, cluster.data / "worker-1")
    with pytest.raises(Unavailable, match="records 1 to 1 are gone"):
        second.run()


def test_truncation_of_the_ledger_shows_against_the_anchor(cluster: Cluster) -> None:
    cluster.worker()
    cluster.publish({"kind": "observation", "event_id": "o1", "content": "hello"})
    cluster.await_entries(1)
    cluster.stop()
    anchors = KafkaAnchors(
        cluster.installation.kafka,
        cluster.log,
        cluster.topics.anchors,
        cluster.master.derive("anchors"),
    )
    seen = anchors.read(ALICE)
    assert seen is not None
    assert seen.entries == 1
    anchors.write(ALICE, {b"": seen._replace(entries=3)})
    follower = fresh_follower(cluster, ALICE)
    follower.catch_up()
    with pytest.raises(Exception, match="2 entries are missing"):
        Anchoring(anchors, MemoryAnchors()).check(follower)


def test_control_records_of_transactions_do_not_hold_up_a_release(cluster: Cluster) -> None:
    from confluent_kafka import Producer

    from mnemolog.cluster import ClusterBackend
    from schemas.kinds import Kind as EventKind

    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "transactional.id": f"t-{cluster.topics.prefix}"}
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(cluster.topics.intake[Kind.RETRACTION], b"aborted", partition=ALICE)
    producer.flush()
    producer.abort_transaction()
    cluster.worker()
    cluster.publish({"kind": "observation", "event_id": "o1", "content": "hello"})
    cluster.await_entries(1)
    backend = ClusterBackend(cluster.installation, cluster.data / "gateway-0")
    try:
        backend.reach(ALICE, backend.ends(ALICE, EventKind.RETRACTION, EventKind.DELETION), 10)
    finally:
        backend.close()


def test_every_event_of_the_story_is_accounted_for(cluster: Cluster) -> None:
    cluster.worker()
    events = story(30)
    cluster.publish(*events)
    cluster.await_entries(len(events))
    cluster.stop()
    said = set()
    for number in range(PARTITIONS):
        follower = fresh_follower(cluster, number)
        follower.catch_up()
        for entry in cluster.entries(number):
            (key,) = follower.vault.get_many([entry.header.key_id])
            if key is not None:
                from projections.follower import open_body

                said.add(event_id_of(open_body(number, entry, key)))
    assert said == {event["event_id"] for event in events}
