"""What the rows of one run share: sizes, seed, scratch directory, profiler, progress.

Only the product's own part of a row runs inside `product()`, so a profile shows no preparation.
"""

from __future__ import annotations

import cProfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
MILLION = 1_000_000


class Sizes(NamedTuple):
    """How much is measured: events of a timed row, of a large store, facts of one scope, asks."""

    events: int
    large: int
    facts: int
    questions: int
    repeats: int


QUICK = Sizes(600, 1_200, 300, 40, 1)


def sizes(events: int, repeats: int, *, full: bool) -> Sizes:
    """Those of a whole run; `full` brings the large ones to the goals' own."""
    return Sizes(
        events, MILLION if full else 5 * events // 2, 100_000 if full else events, 500, repeats
    )


class Run:
    """One run of the benchmark."""

    def __init__(
        self,
        chosen: Sizes,
        seed: int,
        scratch: Path,
        kafka: str | None = None,
        profiler: cProfile.Profile | None = None,
        tell: Callable[[str, int, int], None] = lambda what, done, total: None,
    ) -> None:
        self.sizes = chosen
        self.seed = seed
        self.scratch = scratch
        self.kafka = kafka
        self.profiler = profiler
        self.tell = tell
        self.closing = ExitStack()
        self._names = 0
        self._made: dict[str, Any] = {}

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What several rows of a run share, made by the first."""
        if name not in self._made:
            self._made[name] = make()
        made: T = self._made[name]
        return made

    def directory(self, name: str) -> Path:
        """A fresh directory."""
        self._names += 1
        return self.scratch / f"{self._names:03}-{name}"

    @contextmanager
    def product(self) -> Iterator[None]:
        """The measured part: profiled, if asked for."""
        if self.profiler is None:
            yield
            return
        self.profiler.enable()
        try:
            yield
        finally:
            self.profiler.disable()

    @contextmanager
    def timed(self, into: list[float], cpu: list[float] | None = None) -> Iterator[None]:
        """Append the seconds of a measured part, and the CPU seconds of all its threads."""
        with self.product():
            began, spent = time.perf_counter(), time.process_time()
            yield
            into.append(time.perf_counter() - began)
            if cpu is not None:
                cpu.append(time.process_time() - spent)


def now_micros() -> int:
    """The clock that the product is given, in µs."""
    return time.time_ns() // 1000
