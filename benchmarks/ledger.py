"""Replay against admission, and what verifying costs an entry.

Replay and admission work on one partition and the same events. `verify` is the call that a person
makes, over a data directory of four partitions; `--deep` is set against the replay of the same
directory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks import corpus
from benchmarks.partition import admit, bound, close, follower, on_disk, workload
from benchmarks.results import Result, at_least, at_most, shown
from benchmarks.run import MILLION, Run
from projections.kv_rocks import RocksStore

VERIFY_S = 9.0


def replay(run: Run) -> Iterator[Result]:
    """Fold the ledger that admission has just written."""
    records = workload(run)
    admits: list[float] = []
    replays: list[float] = []
    cpu: tuple[list[float], list[float]] = [], []
    entries = 0
    for n in range(run.sizes.repeats):
        run.tell("admission, then replay", n, run.sizes.repeats)
        source = on_disk(run.directory("replayed"))
        with run.timed(admits, cpu[0]):
            admit(source, records)
        one = source.follower
        fresh = follower(one.log, bound(RocksStore(run.directory("replay"))), one.vault)
        with run.timed(replays, cpu[1]):
            fresh.catch_up()
        entries = fresh.checkpoint().count
        fresh.store.close()
        close(source)
    yield shown("replay", min(replays) / entries * 1e6, "µs/entry")
    more = entries / len(records)
    ratio = more * min(admits) / min(replays)
    yield at_least("replay against admission", ratio, "× its rate", 2.0)
    yield shown("replay against admission, CPU", more * min(cpu[0]) / min(cpu[1]), "× its rate")


def verify(run: Run) -> Iterator[Result]:
    """Check a large ledger; deep against a replay of the same."""
    large = corpus.large(run)
    plain: list[float] = []
    deep: list[float] = []
    replayed: list[float] = []
    with large.open() as runtime:
        run.tell("verify", 0, 3)
        with run.timed(plain):
            found = runtime.verify(deep=False)
        run.tell("verify --deep", 1, 3)
        with run.timed(deep):
            thorough = runtime.verify(deep=True)
        run.tell("replay", 2, 3)
        began = time.perf_counter()
        runtime.replay()
        replayed.append(time.perf_counter() - began)
    for one in (found, thorough):
        if not one.ok:
            raise AssertionError(f"the benchmark's own ledger is damaged: {one.damage[:3]}")
    entries = sum(head.entries for head in found.partitions)
    size = f"{entries:,} entries"
    yield at_most(f"verify, {size}", plain[0] / entries * 1e6, "µs/entry", VERIFY_S * 1e6 / MILLION)
    yield shown(f"verify, {size}", plain[0], "s")
    yield shown(f"verify --deep, {size}", deep[0] / entries * 1e6, "µs/entry")
    yield at_most(f"verify --deep, {size}", deep[0] / replayed[0], "× its replay", 1.2)
