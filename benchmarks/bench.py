"""`make bench`: how far above its floor the product works, and how soon it answers.

The floor is straight-line code without rules over the same bytes: decode (fastavro), authenticate,
tokenise, read the same keys, seal, hash, and write the same keys and values in batches of the same
size. Ratios are taken within one run, the best of several repetitions; nothing is synced to disk
beyond RocksDB's write-ahead log without fsync, in floor and product alike. On Kafka the floor also
produces and reads back the same entries.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.workload import events, intake
from gateway.application import Application
from gateway.requests import RecallQuery, ReleaseQuery
from mnemolog.cluster import Installation, create_topics
from mnemolog.data_directory import DataDirectory
from mnemolog.embedded import Embedded
from processors.admission import Admission, Rules
from processors.verify import verify_partitions
from projections import text
from projections.anchors import MemoryAnchors
from projections.claims import Claim
from projections.follower import Follower
from projections.kv_rocks import RocksStore
from projections.log_rocks import RocksLog
from projections.ports import KeyValueStore, LogRecord
from projections.vault import RocksVault
from schemas.codec import Codec
from schemas.entry import parse_entry
from schemas.kinds import Kind
from schemas.master import MasterKey
from schemas.policy import Policy
from schemas.principals import LOCAL, Registry, built_in, built_in_signer
from schemas.scope import Scope
from schemas.sealing import Hasher, RandomKeys, seal
from schemas.signing import verify
from schemas.topics import TopicNames
from schemas.values import parse_value

RESULTS = Path(__file__).with_name("results.json")
BATCH = 1000
TOPICS = TopicNames()


class Result(NamedTuple):
    """One row of the table."""

    name: str
    value: float
    unit: str
    floor_ratio: float | None = None


class Recorder:
    """A store that remembers which keys were read and what was written."""

    def __init__(self, inner: KeyValueStore) -> None:
        self._inner = inner
        self.reads: list[bytes] = []
        self.batches: list[dict[bytes, bytes | None]] = []
        self.get_many, self.scan, self.close = inner.get_many, inner.scan, inner.close

    def get(self, key: bytes) -> bytes | None:
        """Read, and remember it."""
        self.reads.append(key)
        return self._inner.get(key)

    def write(self, changes: Mapping[bytes, bytes | None], *, sync: bool = False) -> None:
        """Write, and remember it."""
        self.batches.append(dict(changes))
        self._inner.write(changes, sync=sync)


class Bench:
    """One workload and what is measured on it."""

    def __init__(self, count: int, seed: int, scratch: Path) -> None:
        self.scratch = scratch
        self.master = MasterKey(b"bench".ljust(32, b"."))
        self.hasher = Hasher(self.master.derive("keyed-hashes"))
        self.registry = Registry(built_in(self.master))
        self.records = intake(events(count, seed), built_in_signer(self.master, LOCAL), TOPICS)
        self.codec = Codec()

    def admission(self, name: str, wrap: Callable[[KeyValueStore], Any] = lambda s: s) -> Admission:
        """A fresh partition on disk."""
        where = self.scratch / name
        log = RocksLog(where / "log", 1, lambda: time.time_ns() // 1_000_000)
        store = wrap(RocksStore(where / "state"))
        vault = RocksVault(where / "vault", self.master.derive("record-keys"))
        follower = Follower(0, log, TOPICS.ledger, store, vault, self.hasher)
        policy = Policy()
        return Admission(
            follower,
            TOPICS,
            self.codec,
            RandomKeys(),
            lambda: time.time_ns() // 1000,
            lambda: Rules(policy, self.registry),
        )

    def batches(self) -> Iterator[list[LogRecord]]:
        """The intake in batches."""
        for at in range(0, len(self.records), BATCH):
            yield self.records[at : at + BATCH]

    def admit(self, admission: Admission) -> float:
        """Seconds to admit and fold everything."""
        began = time.perf_counter()
        for batch in self.batches():
            admission.admit(batch)
        return time.perf_counter() - began

    def floor(self, name: str, recorded: Recorder, ledger: Sequence[bytes]) -> float:
        """Seconds of the straight-line code over the same bytes, keys and values."""
        where = self.scratch / name
        store, log, vault = (RocksStore(where / part) for part in ("state", "log", "vault"))
        entries = [parse_entry(data) for data in ledger]
        wrapped = [os.urandom(60) for _ in entries]
        keys = RandomKeys()
        states = [batch for batch in recorded.batches if len(batch) > 2]
        began = time.perf_counter()
        reads, done = iter(recorded.reads), 0
        share = len(recorded.reads) // max(1, len(self.records))
        for number, batch in enumerate(self.batches()):
            for record in batch:
                event = self.codec.decode(TOPICS.kind_of[record.topic], record.value)
                verify(
                    TOPICS.kind_of[record.topic],
                    record.value or b"",
                    record.headers,
                    self.registry.verification_key,
                )
                content = getattr(event, "content", None)
                if content:
                    text.tokens(content)
                for _ in range(share):
                    store.get(next(reads, b"?"))
            stretch = entries[done : done + len(batch)]
            for entry in stretch:
                sealed = seal(keys.draw(), entry.sealed[28:], entry.header_bytes)
                self.hasher.content(sealed)
            vault.write(
                {
                    entry.header.key_id: row
                    for entry, row in zip(stretch, wrapped[done:], strict=False)
                }
            )
            log.write(
                {
                    b"R" + (done + n).to_bytes(8, "big"): entry.stored
                    for n, entry in enumerate(stretch)
                }
            )
            done += len(batch)
            if number < len(states):
                store.write(states[number])
        seconds = time.perf_counter() - began
        for one in (store, log, vault):
            one.close()
        return seconds


def close(admission: Admission) -> None:
    """Let a partition's stores go."""
    follower = admission.follower
    follower.store.close()
    follower.vault.close()
    follower.log.close()


def embedded(bench: Bench, repeats: int) -> Iterator[Result]:
    """Admit and fold, replay and verify, each beside the floor."""
    first = bench.admission("recorded", Recorder)
    bench.admit(first)
    recorded: Any = first.follower.store
    ledger = [
        record.value or b""
        for record in first.follower.log.read(TOPICS.ledger, 0, 0, 10 * len(bench.records))
    ]
    count = len(bench.records)
    floors, admits = [], []
    for n in range(repeats):
        floors.append(bench.floor(f"floor-{n}", recorded, ledger))
        admission = bench.admission(f"admit-{n}")
        admits.append(bench.admit(admission))
        close(admission)
    floor, admit = min(floors), min(admits)
    yield Result("floor, embedded", floor / count * 1e6, "µs/event")
    yield Result("admit+fold, embedded", admit / count * 1e6, "µs/event", floor / admit)
    yield Result("admit+fold, embedded", count / admit, "events/s", floor / admit)
    yield from _ledger(bench, first, len(ledger), admit / count)
    close(first)


def _ledger(bench: Bench, source: Admission, entries: int, admit_s: float) -> Iterator[Result]:
    follower = source.follower
    fresh = Follower(
        0,
        follower.log,
        TOPICS.ledger,
        RocksStore(bench.scratch / "replay"),
        follower.vault,
        bench.hasher,
    )
    began = time.perf_counter()
    fresh.catch_up()
    replay = time.perf_counter() - began
    yield Result("replay", entries / replay, "entries/s")
    yield Result("replay against admission", admit_s * entries / replay, "×")
    for deep in (False, True):
        began = time.perf_counter()
        found = verify_partitions([fresh], MemoryAnchors(), deep=deep)
        seconds = time.perf_counter() - began
        assert found.ok, found.damage[:3]
        yield Result("verify --deep" if deep else "verify", entries / seconds, "entries/s")
    fresh.store.close()


@contextmanager
def serving(bench: Bench) -> Iterator[tuple[Application, Embedded]]:
    """An embedded runtime that has admitted the workload's events."""
    directory = DataDirectory(bench.scratch / "data", {"XDG_STATE_HOME": str(bench.scratch)})
    directory.init(1)
    backend = Embedded(directory, bench.master)
    kinds = [(TOPICS.kind_of[record.topic], record) for record in bench.records]
    for at in range(0, len(kinds), BATCH):
        backend.publish(
            [
                (kind, bench.codec.decode(kind, record.value))
                for kind, record in kinds[at : at + BATCH]
            ]
        )
    ends = backend.ends(0, *Kind)
    backend.reach(0, ends._replace(ledger=0), 600)
    try:
        yield Application(backend, bench.master, lambda: time.time_ns() // 1000), backend
    finally:
        backend.close()


def asking(bench: Bench, questions: int) -> Iterator[Result]:
    """Recall and release on the embedded runtime, one caller."""
    with serving(bench) as (application, backend):
        principal = backend.registry().principal(LOCAL)
        assert principal is not None
        recalls, releases = [], []
        for n in range(questions):
            scope = Scope("acme", "bench", f"s{n % 1000}")
            began = time.perf_counter()
            application.recall(principal, scope, RecallQuery("garden light order status pump note"))
            recalls.append(time.perf_counter() - began)
            claim = Claim("thing 1", "state", parse_value("pump", None, "value"), (f"f{n}",))
            began = time.perf_counter()
            application.release(principal, scope, ReleaseQuery("q", (claim,)))
            releases.append(time.perf_counter() - began)
    yield from _percentiles("recall, embedded", recalls)
    yield from _percentiles("release, embedded", releases)


def _percentiles(name: str, seconds: list[float]) -> Iterator[Result]:
    cuts = statistics.quantiles(seconds, n=20)
    yield Result(f"{name}, p50", cuts[9] * 1e3, "ms")
    yield Result(f"{name}, p95", cuts[18] * 1e3, "ms")


def kafka(bench: Bench, bootstrap: str, repeats: int) -> Iterator[Result]:
    """Admit and fold on a real broker, beside decode, seal, produce and read back alone."""
    count = len(bench.records)
    rules = Rules(Policy(), bench.registry)
    admits, floors = [], []
    for n in range(repeats):
        os.environ["MNEMOLOG_TOPIC_PREFIX"] = f"bench-{uuid.uuid4().hex[:8]}"
        create_topics(bootstrap, 1)
        installation = Installation(bootstrap, bench.scratch / f"kafka-{n}", bench.master)
        follower = installation.follower(
            0, 1, bench.scratch / f"kafka-{n}", lock=RLock(), writer=True
        )
        admission = Admission(
            follower,
            installation.topics,
            bench.codec,
            RandomKeys(),
            lambda: time.time_ns() // 1000,
            lambda: rules,
        )
        renamed = [
            record._replace(topic=installation.topics.intake[TOPICS.kind_of[record.topic]])
            for record in bench.records
        ]
        began = time.perf_counter()
        for at in range(0, count, BATCH):
            admission.admit(renamed[at : at + BATCH])
        admits.append(time.perf_counter() - began)
        log = installation.log(1)
        ledger = [r.value for r in _all(log, installation.topics.ledger)]
        topic = installation.topics.triggers
        began = time.perf_counter()
        for at in range(0, count, BATCH):
            for record in bench.records[at : at + BATCH]:
                bench.codec.decode(TOPICS.kind_of[record.topic], record.value)
            stretch = ledger[at : at + BATCH]
            start = log.append(topic, 0, [(data, ()) for data in stretch])[0]
            log.read(topic, 0, start, len(stretch))
        floors.append(time.perf_counter() - began)
        close(admission)
        log.close()
    admit, floor = min(admits), min(floors)
    yield Result("floor, Kafka (decode, produce, read back)", floor / count * 1e6, "µs/event")
    yield Result("admit+fold, Kafka", admit / count * 1e6, "µs/event", floor / admit)
    yield Result("admit+fold, Kafka", count / admit, "events/s", floor / admit)


def _all(log: Any, topic: str) -> Iterator[LogRecord]:
    at = 0
    while records := log.read(topic, 0, at, 5000):
        yield from records
        at = records[-1].offset + 1


def main() -> None:
    """Run, print the table, write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a smoke run: 1,500 events, once")
    parser.add_argument("--kafka", default=os.environ.get("KAFKA_BOOTSTRAP_SERVERS"))
    parser.add_argument("--output", type=Path, default=RESULTS)
    asked = parser.parse_args()
    count, repeats = (1_500, 1) if asked.quick else (asked.events, asked.repeats)
    console = Console(file=sys.stderr)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as scratch:
        bench = Bench(count, asked.seed, Path(scratch))
        parts = [embedded(bench, repeats), asking(bench, 200 if asked.quick else 1000)]
        if asked.kafka:
            parts.append(kafka(bench, asked.kafka, repeats))
        for part in parts:
            for result in part:
                results.append(result)
                console.print(f"{result.name}: {result.value:,.1f} {result.unit}")
    report(results, count, asked.seed, asked.output)


def report(results: list[Result], count: int, seed: int, output: Path) -> None:
    """The table for people, the list for scripts."""
    table = Table(title=f"{count:,} events, seed {seed}")
    for column in ("work", "value", "unit", "of its floor"):
        table.add_column(column, justify="left" if column in ("work", "unit") else "right")
    for result in results:
        ratio = "" if result.floor_ratio is None else f"{result.floor_ratio:.2f}"
        table.add_row(result.name, f"{result.value:,.1f}", result.unit, ratio)
    console = Console()
    console.print(table)
    names = ("fastavro", "rocksdict", "confluent-kafka", "cryptography", "msgspec")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    console.print(f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}")
    console.print("nothing is fsynced: RocksDB's write-ahead log goes to the page cache")
    rows = [{**result._asdict(), "goal": None, "met": None} for result in results]
    output.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
