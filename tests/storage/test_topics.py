"""Topics that are not what they must be, or not what they were, stop a start by name (SPEC §2, §3).

Settings, counts of partitions, topics that are missing or were made anew, a broker that is absent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
import structlog
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic

from mnemolog.cli.app import main
from mnemolog.cluster import ClusterBackend, create_topics, make_worker
from schemas.bodies import event_id_of
from schemas.errors import LedgerCorrupt, Unavailable
from schemas.kinds import Kind
from schemas.scope import Scope, partition_of
from tests.cluster.conftest import PARTITIONS, Cluster, cluster, until
from tests.storage.conftest import Said

__all__ = ["cluster"]
pytestmark = pytest.mark.kafka
ALICE = partition_of(Scope("acme", "support", "alice"), PARTITIONS)
PROCESSES = (("worker",), ("gateway", "--port", "0"), ("agents",))


class Operator:
    """What an operator types, in this process, and does to the broker."""

    def __init__(self, cluster: Cluster, capture: pytest.CaptureFixture[str]) -> None:
        self._cluster = cluster
        self._capture = capture
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap})

    def run(self, *words: str, kafka: str | None = None) -> Said:
        """One call of the command line, which is expected to end by itself."""
        self._capture.readouterr()
        where = ["--kafka", kafka or self._cluster.bootstrap]
        with pytest.raises(SystemExit) as ended:
            main(["--data", str(self._cluster.data), "--json", *words, *where])
        structlog.reset_defaults()
        said = self._capture.readouterr()
        assert isinstance(ended.value.code, int)
        assert "Traceback" not in said.err
        return Said(ended.value.code, json.loads(said.out), said.err)

    def refused(self, *words: str) -> Said:
        """What a process says that does not start."""
        said = self.run(*words)
        assert said.status == 3, said
        assert said.document["remedy"]
        return said

    def set(self, topic: str, setting: str, value: str) -> None:
        """Alter one setting of a topic; seen when it returns."""
        from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry

        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        change = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        for future in self.admin.incremental_alter_configs([change]).values():
            future.result()
        resource = ConfigResource(ResourceType.TOPIC, topic)

        def now() -> str:
            found = self.admin.describe_configs([resource])[resource].result()
            return str(found[setting].value)

        until(now, lambda seen: seen == value)

    def delete(self, *topics: str) -> None:
        """Delete topics; gone when it returns."""
        for future in self.admin.delete_topics(list(topics)).values():
            future.result()
        until(lambda: set(self.admin.list_topics(timeout=20).topics), lambda t: not t & {*topics})

    def make(self, topic: str, partitions: int) -> None:
        """Create a topic with the settings it must have."""
        (config,) = [t.config for t in self._cluster.topics.topics() if t.name == topic]
        made = NewTopic(topic, partitions, 1, config=dict(config))
        for future in self.admin.create_topics([made]).values():
            future.result()
        self.await_partitions(topic, partitions)

    def grow(self, topics: Sequence[str], partitions: int) -> None:
        """Give topics more partitions."""
        wanted = [NewPartitions(topic, partitions) for topic in topics]
        for future in self.admin.create_partitions(wanted).values():
            future.result()
        for topic in topics:
            self.await_partitions(topic, partitions)

    def await_partitions(self, topic: str, count: int) -> None:
        until(
            lambda: self.admin.list_topics(timeout=20).topics.get(topic),
            lambda seen: seen is not None and len(seen.partitions) == count,
        )


@pytest.fixture
def operator(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Operator:
    """The operator of a fresh installation."""
    return Operator(cluster, capsys)


def observed(*names: str) -> list[dict[str, object]]:
    return [{"kind": "observation", "event_id": name, "content": name} for name in names]


def told(cluster: Cluster, *names: str, moved: int = 0, **options: bool) -> None:
    """Publish observations, have a worker admit them (and those it moves), and stop it."""
    before = len(cluster.entries(ALICE))
    cluster.publish(*observed(*names))
    cluster.worker("worker-0", **options)
    cluster.await_entries(before + len(names) + moved)
    cluster.stop()


def remembered(cluster: Cluster) -> list[str]:
    """The ids of alice's episodes, by a gateway, in order; everything verified."""
    backend = ClusterBackend(cluster.installation, cluster.data / "gateway-0")
    try:
        assert backend.problems() == []
        assert backend.verify(deep=True).ok
        return sorted(event_id_of(body) for _, body in backend.entries(ALICE) if body is not None)
    finally:
        backend.close()


def test_every_setting_that_would_lose_memory_stops_a_start_and_is_named(
    cluster: Cluster, operator: Operator
) -> None:
    topics = cluster.topics
    intake = topics.intake[Kind.RETRACTION]
    wrong = [
        (topics.ledger, "retention.ms", "604800000"),
        (topics.ledger, "retention.bytes", "1000000"),
        (topics.ledger, "cleanup.policy", "compact"),
        (topics.ledger, "message.timestamp.type", "CreateTime"),
        (topics.ledger, "max.message.bytes", "1000"),
        (intake, "retention.ms", "604800000"),
        (intake, "cleanup.policy", "compact"),
        (intake, "message.timestamp.type", "CreateTime"),
        (topics.keys, "cleanup.policy", "delete"),
        (topics.anchors, "cleanup.policy", "delete"),
    ]
    right = {topic.name: topic.config for topic in topics.topics()}
    for topic, setting, value in wrong:
        operator.set(topic, setting, value)
        said = operator.run("topics", "check")
        assert said.status == 1
        (difference,) = said.document["differences"]
        for word in (topic, setting, value, right[topic][setting], "kafka-configs.sh"):
            assert word in difference
        assert difference in operator.refused("worker").document["detail"]
        operator.set(topic, setting, right[topic][setting])
    operator.set(*wrong[0])
    for words in PROCESSES:
        assert "retention.ms is 604800000" in operator.refused(*words).document["detail"]
    assert operator.run("doctor").status == 1
    operator.set(topics.ledger, "retention.ms", "-1")
    told(cluster, "o1")
    assert remembered(cluster) == ["o1"]


def test_missing_topics_are_named_with_the_command_that_makes_them(
    cluster: Cluster, operator: Operator
) -> None:
    told(cluster, "o1")
    gone = cluster.topics.triggers
    operator.delete(gone)
    for words in PROCESSES:
        detail = operator.refused(*words).document["detail"]
        assert f"topics are missing: {gone}; type: mnemolog topics create" in detail
    assert operator.run("topics", "create").document == {"created": [gone]}
    told(cluster, "o2")
    assert remembered(cluster) == ["o1", "o2"]


def test_a_broker_that_is_absent_is_named_by_every_process(
    cluster: Cluster, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.kafka_io.TIMEOUT", 0.5)
    monkeypatch.setattr("processors.topics_admin.METADATA_S", 0.5)
    absent = "127.0.0.1:1"
    for words in (*PROCESSES, ("topics", "check"), ("topics", "create")):
        said = operator.run(*words, kafka=absent)
        assert said.status == 3, said
        assert f"broker {absent}" in said.document["detail"]
        assert "check that it runs" in said.document["remedy"]
    said = operator.run("doctor", kafka=absent)
    assert said.status == 1
    assert f"broker {absent}" in said.text


def test_an_intake_with_more_or_fewer_partitions_stops_a_start_until_it_is_made_as_it_was(
    cluster: Cluster, operator: Operator
) -> None:
    told(cluster, "o1", "o2", "o3")
    topic = cluster.topics.intake[Kind.OBSERVATION]
    operator.grow([topic], PARTITIONS + 1)
    for words in PROCESSES:
        detail = operator.refused(*words).document["detail"]
        assert f"{topic} has {PARTITIONS + 1} partitions and must have {PARTITIONS}" in detail
    operator.delete(topic)
    operator.make(topic, 1)
    for words in PROCESSES:
        detail = operator.refused(*words).document["detail"]
        assert f"{topic} has 1 partitions and must have {PARTITIONS}" in detail
    operator.delete(topic)
    assert create_topics(cluster.bootstrap, PARTITIONS + 2) == [topic]  # as many as the ledger has
    cluster.publish(*observed("o4", "o5"))  # acknowledged where the ledger would not look
    said = operator.refused("worker")
    assert f"{topic} was made anew" in said.document["detail"]
    assert "mnemolog worker --intake-anew" in said.document["remedy"]
    told(cluster, "o6", moved=2, intake_anew=True)
    assert remembered(cluster) == ["o1", "o2", "o3", "o4", "o5", "o6"]
    told(cluster, "o7")
    assert remembered(cluster)[-1] == "o7"


def test_a_worker_that_never_met_the_old_intake_finds_that_it_ends_too_early(
    cluster: Cluster, operator: Operator
) -> None:
    told(cluster, "o1", "o2")
    topic = cluster.topics.intake[Kind.OBSERVATION]
    operator.delete(topic)
    create_topics(cluster.bootstrap, PARTITIONS)
    worker = make_worker(cluster.installation, cluster.data / "worker-elsewhere")
    with pytest.raises(Unavailable, match="ends at 0, and the ledger goes on at 2") as refusal:
        worker.run()
    assert "--intake-anew" in refusal.value.remedy
    cluster.publish(*observed("o3"))
    told(cluster, "o4", moved=1, intake_anew=True)
    assert remembered(cluster) == ["o1", "o2", "o3", "o4"]


def test_topics_that_all_grew_do_not_move_subjects_unseen(
    cluster: Cluster, operator: Operator
) -> None:
    told(cluster, "o1")
    assert remembered(cluster) == ["o1"]
    names = [topic.name for topic in cluster.topics.topics()]
    operator.grow(names, PARTITIONS + 1)
    for words in PROCESSES[:2]:
        detail = operator.refused(*words).document["detail"]
        assert f"has {PARTITIONS + 1} partitions and had {PARTITIONS}" in detail
        assert str(cluster.data) in detail


def test_a_ledger_or_keys_topic_made_anew_is_another_one(
    cluster: Cluster, operator: Operator
) -> None:
    told(cluster, "o1")
    assert remembered(cluster) == ["o1"]
    for topic in (cluster.topics.ledger, cluster.topics.keys):
        operator.delete(topic)
        create_topics(cluster.bootstrap, PARTITIONS)
        for words in PROCESSES[:2]:
            said = operator.refused(*words)
            assert f"{topic} was made anew" in said.document["detail"]
            assert "restore it from a backup" in said.document["remedy"]
            assert str(cluster.data) in said.document["remedy"]


def test_a_gateway_and_a_worker_that_run_notice_that_the_ledger_was_made_anew(
    cluster: Cluster, operator: Operator
) -> None:
    told(cluster, "o1", "o2")
    worker = make_worker(cluster.installation, cluster.data / "worker-1", keep_intake=True)
    owned = worker._open_partition(ALICE)
    backend = ClusterBackend(cluster.installation, cluster.data / "gateway-0")
    try:
        operator.delete(cluster.topics.ledger)
        create_topics(cluster.bootstrap, PARTITIONS)
        problems = until(backend.problems, lambda found: any("anew" in one for one in found), 90)
        assert "another_log" in problems[0]
        with pytest.raises(Exception, match="made anew"), backend.reading(ALICE):
            pytest.fail("a partition was read whose ledger is another one")
        cluster.publish(*observed("o3"))
        topic = cluster.topics.intake[Kind.OBSERVATION]
        records = cluster.log.read(topic, ALICE, cluster.log.start(topic, ALICE), 10)
        with pytest.raises((LedgerCorrupt, Unavailable)):
            owned.admission.admit(records)
    finally:
        backend.close()
        owned.close()
        worker._consumer.close()


def test_a_vault_that_was_read_further_than_its_topic_goes_is_refused(
    cluster: Cluster, operator: Operator
) -> None:
    told(cluster, "o1")
    assert remembered(cluster) == ["o1"]
    operator.delete(cluster.topics.keys)
    create_topics(cluster.bootstrap, PARTITIONS)
    (cluster.data / "gateway-0" / "topics.json").unlink()
    backend = ClusterBackend(cluster.installation, cluster.data / "gateway-0")
    try:
        vault = backend._parts[ALICE].follower.vault
        with pytest.raises(Unavailable, match="was made anew or truncated"):
            vault.get_many([b"?" * 16])
    finally:
        backend.close()
