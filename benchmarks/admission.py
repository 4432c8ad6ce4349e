"""Admit and fold, embedded, one process: mixed kinds, lexical index included, beside its floor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.floor import Batch, Floor, Tape
from benchmarks.partition import HASHER, REGISTRY, TOPICS, admit, close, on_disk, taped, workload
from benchmarks.results import Result, at_least, of_floor, shown
from benchmarks.run import Run
from projections.kv_rocks import RocksStore
from projections.ports import KeyValueStore, LogRecord

NAME = "admit+fold, embedded"


def rows(run: Run) -> Iterator[Result]:
    """The floor, the product, and what the product asks of its store."""
    records = workload(run)
    tapes, done = _tapes(run, records)
    floors: list[tuple[float, float]] = []
    admits: list[float] = []
    cpu: list[float] = []
    for n in range(run.sizes.repeats):
        run.tell("floor and product in turn", n, run.sizes.repeats)
        floors.append(_floor(run, tapes, done))
        fresh = on_disk(run.directory("admit"))
        with run.timed(admits, cpu):
            admit(fresh, records)
        close(fresh)
    count, state = len(records), tapes[0]
    walls, spent = zip(*floors, strict=True)
    yield from of_floor(NAME, min(admits), min(walls), count, 0.5)
    yield from of_floor(f"{NAME}, CPU", min(cpu), min(spent), count, None)
    yield at_least(NAME, count / min(admits), "events/s", 20_000)
    yield shown("store reads", state.gets / count, "gets/event")
    yield shown("store scans", state.scans / count, "scans/event")
    yield shown("store rows written", state.rows / count, "rows/event")
    yield shown("store bytes written", state.bytes / count, "bytes/event")


def _tapes(run: Run, records: Sequence[LogRecord]) -> tuple[list[Tape], list[Batch]]:
    """What the product does to state and vault, and which entries each batch leaves."""
    made: list[Tape] = []

    def tape(store: KeyValueStore) -> Tape:
        made.append(Tape(store))
        return made[-1]

    first = on_disk(run.directory("tape"), tape, tape)
    vault, state = made
    done = taped(first, records, made)
    close(first)
    return [state, vault], done


def _floor(run: Run, tapes: Sequence[Tape], done: Sequence[Batch]) -> tuple[float, float]:
    where = run.directory("floor")
    stores = [RocksStore(where / name) for name in ("state", "vault")]
    log, written = RocksStore(where / "log"), 0

    def ports(number: int, batch: Batch) -> None:
        nonlocal written
        rows: dict[bytes, bytes | None] = {
            b"R" + (written + n).to_bytes(8, "big"): entry for n, entry in enumerate(batch.entries)
        }
        written += len(rows)
        log.write(rows, sync=True)
        for tape, store in zip(tapes, stores, strict=True):
            tape.replay(number, store)

    spent = Floor(TOPICS, REGISTRY, HASHER).spent(done, ports)
    for store in (*stores, log):
        store.close()
    return spent
