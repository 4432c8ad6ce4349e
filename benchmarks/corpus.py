"""A data directory of the embedded runtime that holds so many of the benchmark's events.

Events go in through the runtime's own log and admission; what is asked of it later runs against
what a user would have on disk. Made once for each size in a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from benchmarks.partition import MASTER, SIGNER
from benchmarks.run import Run
from benchmarks.workload import Said, events
from mnemolog.data_directory import DataDirectory
from mnemolog.embedded import Embedded
from schemas.codec import Codec
from schemas.scope import partition_of

PARTITIONS = 4
SCOPE_EVENTS = 1000
CHUNK = 2000


class Corpus:
    """The directory of one size: `count` events over `subjects`, those of the first `kept`."""

    def __init__(self, run: Run, count: int, subjects: int, kept: int) -> None:
        self.path = run.directory("corpus")
        self.subjects = kept
        self._env = {"XDG_STATE_HOME": str(run.scratch)}
        self.events = 0
        DataDirectory(self.path, self._env).init(PARTITIONS)
        with self.open(start=False) as runtime:
            said = events(count, run.seed, subjects, kept)
            while chunk := list(islice(said, CHUNK)):
                append(runtime, chunk)
                drain(runtime)
                self.events += len(chunk)
                run.tell(f"a store of {count:,} events", self.events, count * kept // subjects)

    @contextmanager
    def open(self, *, start: bool = True) -> Iterator[Embedded]:
        """The runtime over it."""
        runtime = Embedded(DataDirectory(self.path, self._env), MASTER, start=start)
        try:
            yield runtime
        finally:
            runtime.close()


def append(runtime: Embedded, said: Iterable[Said]) -> int:
    """Put events into the intake, signed by `local`; how many."""
    codec, count = Codec(), 0
    places: dict[tuple[str, int], list[tuple[bytes | None, tuple[tuple[str, bytes], ...]]]] = {}
    for kind, event in said:
        payload = codec.encode(kind, event)
        partition = partition_of(event.envelope.scope, runtime.partitions)
        place = (runtime.topics.intake[kind], partition)
        places.setdefault(place, []).append((payload, tuple(SIGNER.sign(kind, payload))))
        count += 1
    for (topic, partition), records in places.items():
        runtime.log.append(topic, partition, records)
    return count


def drain(runtime: Embedded) -> None:
    """Admit what is in the intake."""
    while runtime.admit_once():
        pass


def large(run: Run) -> Corpus:
    """The run's large store: about a thousand events a scope, as many scopes as that takes."""
    return _kept(run, run.sizes.large, run.sizes.large // SCOPE_EVENTS or 1, None)


def small(run: Run) -> Corpus:
    """A hundredth of the scopes of the large store (two at least), each with the same events."""
    subjects = run.sizes.large // SCOPE_EVENTS or 1
    return _kept(run, run.sizes.large, subjects, max(1, subjects // 100))


def _kept(run: Run, count: int, subjects: int, kept: int | None) -> Corpus:
    name = f"corpus {count}/{subjects}/{kept}"
    return run.once(name, lambda: Corpus(run, count, subjects, kept or subjects))
