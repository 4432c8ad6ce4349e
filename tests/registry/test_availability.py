"""A registry that is away judges no event: the worker stops with the reason (SPEC §2)."""

from __future__ import annotations

import socket
import threading

import pytest

from mnemolog.cluster import make_worker
from processors.worker import Worker
from schemas import registry_resolver
from schemas.codec import Codec
from schemas.entry import Entry
from schemas.errors import Unavailable
from schemas.kinds import Decision, Kind
from schemas.principals import LOCAL, built_in_signer
from schemas.registry_resolver import ConfluentResolver
from tests.cluster.conftest import Cluster, parsed, until
from tests.intake.harness import ALICE
from tests.registry.server import OwnRegistry
from tests.registry.writing import Writer, edited, extra

OBSERVATION = Kind.OBSERVATION


@pytest.mark.kafka
@pytest.mark.registry
def test_a_worker_without_its_registry_stops_and_goes_on_where_it_was(
    own_registry: OwnRegistry, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    registry, url = own_registry()
    monkeypatch.setenv("MNEMOLOG_SCHEMA_REGISTRY", url)
    cluster: Cluster = request.getfixturevalue("cluster")
    known, later = writers(url)

    running = Running(make_worker(cluster.installation, cluster.data / "worker-0"))
    send(cluster, "before", known)
    answered(cluster, 1)
    registry.kill()
    send(cluster, "by a schema that it has", known)
    answered(cluster, 2)
    send(cluster, "by a schema that it must ask for", later)
    send(cluster, "behind it", None)
    assert "schema registry" in str(until(running.failure, lambda error: error is not None, 90))

    again = make_worker(cluster.installation, cluster.data / "worker-0")
    with pytest.raises(Unavailable, match="schema registry") as caught:
        again.run()
    assert caught.value.remedy
    assert len(cluster.entries(ALICE)) == 2
    assert cluster.records(cluster.topics.rejections, ALICE) == []

    assert registry.up() == url
    assert [writer.schema_id for writer in writers(url)] == [known.schema_id, later.schema_id]
    cluster.worker("worker-0")
    assert all(one.header.decision == Decision.ACCEPTED for one in answered(cluster, 4))


@pytest.mark.kafka
def test_the_worker_process_exits_with_3_and_says_which_part_is_away(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://user:secret@127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setenv("MNEMOLOG_SCHEMA_REGISTRY", url)
    cluster.send(b"\x00\x00\x00\x00\x01rest", partition=ALICE)
    process = cluster.process("worker")
    told = "".join(process.communicate(timeout=90))
    assert process.returncode == 3
    assert "schema registry" in told
    assert "secret" not in told
    assert cluster.entries(ALICE) == []


def test_a_registry_that_takes_the_call_and_says_nothing_is_away_within_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its client alone would wait for ever."""
    monkeypatch.setitem(registry_resolver._PATIENCE, "timeout", 0.2)
    monkeypatch.setitem(registry_resolver._PATIENCE, "max.retries", 0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        resolver = ConfluentResolver({"url": f"http://127.0.0.1:{silent.getsockname()[1]}"})
        with pytest.raises(Unavailable, match="timed out"):
            Codec(resolver).decode(OBSERVATION, b"\x00\x00\x00\x00\x01rest")


class Running:
    """A worker in a thread; why it ended."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._failure: Unavailable | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def failure(self) -> Unavailable | None:
        """What `run` raised, once it has let its partitions go."""
        return None if self._thread.is_alive() else self._failure

    def _run(self) -> None:
        try:
            self._worker.run()
        except Unavailable as error:
            self._failure = error


def writers(url: str) -> tuple[Writer, Writer]:
    """Two schemas; an empty registry numbers them the same each time."""
    first = Writer(url, "first", OBSERVATION, edited(OBSERVATION))
    mood = extra("mood", "string", "calm")
    return first, Writer(url, "second", OBSERVATION, edited(OBSERVATION, mood))


def send(cluster: Cluster, event_id: str, writer: Writer | None) -> None:
    """Produce a signed observation, with a writer's schema or in single-object encoding."""
    kind, event = parsed({"kind": "observation", "event_id": event_id, "content": "hello"}, LOCAL)
    raw = Codec().encode(kind, event) if writer is None else writer.frame(event, mood="calm")
    headers = tuple(built_in_signer(cluster.master, LOCAL).sign(kind, raw))
    topic = cluster.topics.intake[kind]
    cluster.installation.kafka.send(topic, ALICE, [(None, raw, headers)])


def answered(cluster: Cluster, count: int) -> list[Entry]:
    """Alice's entries, once there are so many."""
    return until(lambda: cluster.entries(ALICE), lambda entries: len(entries) == count, 90)
