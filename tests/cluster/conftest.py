"""A fresh installation a test: topics of its own on the session's broker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from mnemolog.cluster import Installation, create_topics, make_worker
from processors.worker import Worker
from projections.ports import LogRecord
from schemas.boundary import parse_event
from schemas.entry import NO_FOLLOW_UP, Entry, parse_entry
from schemas.events import Event
from schemas.kinds import Kind
from schemas.master import MasterKey
from schemas.principals import LOCAL

PARTITIONS = 2
T = TypeVar("T")
SCOPE = {"tenant": "acme", "namespace": "support", "subject": "alice", "branch": "main"}


class Cluster:
    """An installation, with what tests do to it."""

    def __init__(self, bootstrap: str, data: Path) -> None:
        self.bootstrap = bootstrap
        self.data = data
        self.master = MasterKey.load(data, os.environ)
        self.installation = Installation(bootstrap, data, self.master)
        self.topics = self.installation.topics
        self.log = self.installation.log(PARTITIONS)
        self._running: list[tuple[Worker, threading.Thread]] = []
        self._processes: list[subprocess.Popen[str]] = []

    def worker(self, name: str = "worker-0", **options: object) -> Worker:
        """A worker in a thread of this process."""
        worker = make_worker(self.installation, self.data / name, **options)  # type: ignore[arg-type]
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        self._running.append((worker, thread))
        return worker

    def process(self, verb: str, *more: str) -> subprocess.Popen[str]:
        """One of the product's own processes."""
        command = [
            sys.executable,
            "-m",
            "mnemolog",
            "--data",
            str(self.data),
            "--json",
            verb,
            "--kafka",
            self.bootstrap,
            *more,
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._processes.append(process)
        return process

    def gateway(self) -> str:
        """A gateway process; its address."""
        process = self.process("gateway", "--port", "0")
        assert process.stdout is not None
        return str(json.loads(process.stdout.readline())["url"])

    def send(self, raw: bytes | None, kind: Kind = Kind.OBSERVATION, partition: int = 0) -> int:
        """Produce raw bytes, unsigned; the offset."""
        (sent,) = self.installation.kafka.send(
            self.topics.intake[kind], partition, [(None, raw, ())]
        )
        return sent.offset

    def publish(self, *events: dict[str, object], name: str = LOCAL) -> None:
        """Produce signed events to the partitions of their subjects."""
        publisher = self.installation.publisher(name, PARTITIONS)
        publisher.publish([parsed(event, name) for event in events])
        publisher.close()

    def records(self, topic: str, partition: int) -> list[LogRecord]:
        """Everything that a topic partition holds."""
        found: list[LogRecord] = []
        at = self.log.start(topic, partition)
        while records := self.log.read(topic, partition, at, 1000):
            found += records
            at = records[-1].offset + 1
        return found

    def entries(self, partition: int) -> list[Entry]:
        """The chain of a partition, beaten entries left out."""
        chain: list[Entry] = []
        for record in self.records(self.topics.ledger, partition):
            entry = parse_entry(record.value)
            head = chain[-1].hash if chain else bytes(32)
            if entry.header.previous == head and entry.header.sequence == len(chain):
                chain.append(entry)
        return chain

    def await_entries(self, count: int) -> list[Entry]:
        """Wait until the chains answer so many intake records; all entries, follow-ups too."""
        return until(
            lambda: [e for p in range(PARTITIONS) for e in self.entries(p)],
            lambda entries: sum(e.header.follows == NO_FOLLOW_UP for e in entries) >= count,
        )

    def stop(self) -> None:
        """Stop everything that was started."""
        for worker, thread in self._running:
            worker.stop()
            thread.join(30)
        self._running.clear()
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        self._processes.clear()


def parsed(event: dict[str, object], adapter: str) -> tuple[Kind, Event]:
    """A JSON event as an adapter's."""
    now = time.time_ns() // 1000
    return parse_event(
        {"scope": SCOPE, **event}, adapter=adapter, now=now, new_id=lambda: uuid.uuid4().hex
    )


def until(look: Callable[[], T], done: Callable[[T], bool], seconds: float = 40.0) -> T:
    """Look until it is done; fail with what was last seen."""
    deadline = time.monotonic() + seconds
    while not done(seen := look()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.02)
    return seen


@pytest.fixture
def cluster(
    kafka_bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cluster]:
    """Fresh topics and a fresh data directory."""
    monkeypatch.setenv("MNEMOLOG_TOPIC_PREFIX", f"c-{uuid.uuid4().hex[:10]}")
    create_topics(kafka_bootstrap, PARTITIONS)
    made = Cluster(kafka_bootstrap, tmp_path)
    yield made
    made.stop()
