"""The broker itself fails: killed while it is written to, its leader replaced, away for a while.

Each test has a broker of its own. Workers go on when it is back (or end, saying why); a producer
sends again what was not acknowledged, and nothing is lost or doubled (SPEC §3).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.backend import Reach
from mnemolog.cluster import ClusterBackend, create_topics
from schemas.errors import Unavailable
from schemas.kinds import Kind
from tests.broker import LocalKafka, OwnKafka
from tests.cluster.conftest import PARTITIONS, Cluster, until
from tests.crash.cluster_child import Plan
from tests.crash.feed import Feed
from tests.crash.installed import Installed

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@contextmanager
def cluster_on(
    bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cluster]:
    """An installation on a broker that this test may break."""
    monkeypatch.setenv("MNEMOLOG_TOPIC_PREFIX", f"c-{uuid.uuid4().hex[:10]}")
    create_topics(bootstrap, PARTITIONS)
    made = Cluster(bootstrap, tmp_path / "installation")
    made.data.mkdir(exist_ok=True)
    yield made
    made.stop()


def restart(kafka: LocalKafka, node: int) -> None:
    kafka.kill(node)
    kafka.start(node)


def test_a_broker_killed_while_it_is_written_to_loses_and_doubles_nothing(
    own_kafka: OwnKafka,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    kafka, bootstrap = own_kafka(1)
    with cluster_on(bootstrap, tmp_path, monkeypatch) as cluster:
        installed = Installed(cluster, Feed(71, 8, 16))
        worker = installed.ready(Plan("one"))
        installed.publish_during(lambda: restart(kafka, 1))
        installed.admitted()
        installed.end(worker)
        installed.check()
    said = capfd.readouterr()
    lines = [line for line in (said.out + said.err).splitlines() if "does not answer" in line]
    assert 1 <= len(lines) < 10, lines  # a line a process at intervals, not one an attempt


def test_a_broker_killed_in_the_middle_of_a_batch_gets_the_rest_when_it_is_back(
    own_kafka: OwnKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka, bootstrap = own_kafka(1)
    with cluster_on(bootstrap, tmp_path, monkeypatch) as cluster:
        installed = Installed(cluster, Feed(73, 4, 12))
        installed.publish()
        worker = installed.stopped(Plan("one", "produce.between"))
        restart(kafka, 1)
        installed.resume(worker)
        installed.admitted()
        installed.end(worker)
        installed.check()


def test_a_gateway_says_that_its_broker_is_away_releases_nothing_and_goes_on_when_it_is_back(
    own_kafka: OwnKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka, bootstrap = own_kafka(1)
    with cluster_on(bootstrap, tmp_path, monkeypatch) as cluster:
        backend = ClusterBackend(cluster.installation, cluster.data / "gateway-0")
        try:
            assert backend.problems() == []
            kafka.kill(1)
            assert "check that it runs" in until(backend.problems, bool, 90)[0]
            with pytest.raises(Unavailable, match=bootstrap):  # what a release asks for first
                backend.ends(0, Kind.RETRACTION)
            kafka.start(1)
            until(backend.problems, lambda problems: problems == [], 90)
            assert backend.ends(0, Kind.RETRACTION) == Reach(0, {Kind.RETRACTION: 0})
        finally:
            backend.close()


def test_a_worker_without_a_broker_ends_and_says_what_to_do(tmp_path: Path) -> None:
    cluster = Cluster("127.0.0.1:1", tmp_path)
    worker = cluster.process("worker")
    said, logged = worker.communicate(timeout=90)
    assert worker.returncode == 3
    assert "check that it runs" in json.loads(said)["remedy"]
    told = [line for line in logged.splitlines() if "does not answer" in line]
    assert 1 <= len(told) <= 6  # a line every 10 s of the 30 that it waits
    assert len(logged.splitlines()) == len(told)


def test_another_leader_takes_over_and_nothing_is_lost_or_doubled(
    own_kafka: OwnKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka, bootstrap = own_kafka(3)
    with cluster_on(bootstrap, tmp_path, monkeypatch) as cluster:
        installed = Installed(cluster, Feed(72, 8, 16))
        admin = cluster.installation.kafka.admin

        def leader() -> int:
            found = admin.list_topics(cluster.topics.ledger, timeout=10)
            return int(found.topics[cluster.topics.ledger].partitions[0].leader)

        worker = installed.ready(Plan("one"))
        first = leader()
        installed.publish_during(lambda: kafka.kill(first))
        installed.admitted()
        until(leader, lambda now: now != first)
        kafka.start(first)
        installed.publish(0, 8)
        installed.admitted()
        installed.end(worker)
        installed.check()
