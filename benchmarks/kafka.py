"""Admit and fold against a real broker on the same cores, beside its floor.

The floor does the embedded one's work, on the stores that a worker has, and produces and reads
back: ledger entries produced and consumed, key pages produced.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import RLock

from benchmarks.floor import Batch, Floor, Tape
from benchmarks.partition import (
    HASHER,
    MASTER,
    REGISTRY,
    admission,
    admit,
    bound,
    close,
    taped,
    workload,
)
from benchmarks.results import Result, at_least, of_floor
from benchmarks.run import Run
from mnemolog.cluster import PREFIX_VARIABLE, Installation, create_topics
from projections.follower import Follower
from projections.kafka_io import TIMEOUT
from projections.kafka_vault import PAGE, KafkaVault
from projections.kv_rocks import RocksStore
from projections.ports import LogRecord

NAME = "admit+fold, Kafka"
PAGE_BYTES = 28 + 48 * PAGE


def installation(run: Run, partitions: int, where: Path) -> Installation:
    """A cluster of fresh topics on the run's broker, which go at the end of the run."""
    assert run.kafka is not None
    os.environ[PREFIX_VARIABLE] = f"bench-{uuid.uuid4().hex[:8]}"
    create_topics(run.kafka, partitions)
    where.mkdir(parents=True, exist_ok=True)
    made = Installation(run.kafka, where, MASTER)
    run.closing.callback(_remove, made)
    return made


def _remove(made: Installation) -> None:
    names = [topic.name for topic in made.topics.topics()]
    for removed in made.kafka.admin.delete_topics(
        names, operation_timeout=TIMEOUT, request_timeout=TIMEOUT
    ).values():
        removed.result()


def rows(run: Run) -> Iterator[Result]:
    """The floor and the product in turn."""
    tapes, done = _tapes(run)
    floors: list[tuple[float, float]] = []
    admits: list[float] = []
    cpu: list[float] = []
    for n in range(run.sizes.repeats):
        run.tell("floor and product in turn", n, run.sizes.repeats)
        floors.append(_floor(run, tapes, done))
        where = run.directory("kafka")
        one = installation(run, 1, where)
        records = workload(run, one.topics)
        follower = one.follower(0, 1, where, lock=RLock(), writer=True)
        writer = admission(follower, one.topics)
        with run.timed(admits, cpu):
            admit(writer, records)
        close(writer)
        one.kafka.close()
    count = run.sizes.events
    walls, spent = zip(*floors, strict=True)
    yield from of_floor(NAME, min(admits), min(walls), count, 0.5)
    yield from of_floor(f"{NAME}, CPU", min(cpu), min(spent), count, None)
    yield at_least(NAME, count / min(admits), "events/s", 10_000)


def _tapes(run: Run) -> tuple[list[Tape], list[Batch]]:
    """What the product does to a worker's local stores, and which entries each batch leaves."""
    where = run.directory("kafka-tape")
    one = installation(run, 1, where)
    state, vault = (Tape(RocksStore(where / name)) for name in ("state", "vault"))
    keys = KafkaVault(
        one.kafka,
        one.log(1),
        one.topics.keys,
        0,
        vault,
        MASTER.derive("record-keys"),
        publish=True,
    )
    follower = Follower(0, one.log(1), one.topics.ledger, bound(state), keys, HASHER)
    writer = admission(follower, one.topics)
    done = taped(writer, workload(run, one.topics), [state, vault])
    close(writer)
    one.kafka.close()
    return [state, vault], done


def _floor(run: Run, tapes: Sequence[Tape], done: Sequence[Batch]) -> tuple[float, float]:
    where = run.directory("kafka-floor")
    one = installation(run, 1, where)
    stores = [RocksStore(where / name) for name in ("state", "vault")]
    log, ledger, keys = one.log(1), one.topics.ledger, one.topics.keys
    renamed = [batch._replace(records=_renamed(batch.records, one)) for batch in done]

    def ports(number: int, batch: Batch) -> None:
        pages = -(-len(batch.entries) // PAGE)
        one.kafka.send(
            keys, 0, [(os.urandom(16), os.urandom(PAGE_BYTES), ()) for _ in range(pages)]
        )
        start = log.append(ledger, 0, [(entry, ()) for entry in batch.entries])[0]
        log.read(ledger, 0, start, len(batch.entries))
        for tape, store in zip(tapes, stores, strict=True):
            tape.replay(number, store)

    spent = Floor(one.topics, REGISTRY, HASHER).spent(renamed, ports)
    for store in stores:
        store.close()
    log.close()
    one.kafka.close()
    return spent


def _renamed(records: Sequence[LogRecord], one: Installation) -> list[LogRecord]:
    """The records as another prefix names their topics."""
    words = {topic.rpartition(".")[2]: topic for topic in one.topics.kind_of}
    return [record._replace(topic=words[record.topic.rpartition(".")[2]]) for record in records]
