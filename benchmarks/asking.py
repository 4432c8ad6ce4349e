"""Recall and release on the embedded runtime, one caller; recall beside saturated admission.

Scopes hold about a thousand events each, as they do with a million events over a thousand subjects.
The same scopes are asked in a store that has nothing else, so growth of the store shows alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice

from benchmarks import corpus
from benchmarks.partition import MASTER
from benchmarks.results import Result, at_least, at_most, percentile, shown
from benchmarks.run import MILLION, Run, now_micros
from benchmarks.workload import QUERY, events, scope_of
from gateway.application import Application
from gateway.requests import RecallQuery, ReleaseQuery
from mnemolog.data_directory import DataDirectory
from mnemolog.embedded import Embedded
from projections.claims import Claim
from schemas.principals import LOCAL, Principal
from schemas.values import parse_value

ASKED_A_SECOND = 20


class Asker:
    """One caller of an application over the benchmark's scopes."""

    def __init__(self, runtime: Embedded, subjects: int) -> None:
        principal = runtime.registry().principal(LOCAL)
        assert principal is not None
        self._principal: Principal = principal
        self._application = Application(runtime, MASTER, now_micros)
        self._subjects = subjects

    def recall(self, n: int) -> None:
        """The n-th question."""
        scope = scope_of(f"s{n % self._subjects}")
        self._application.recall(self._principal, scope, RecallQuery(QUERY))

    def release(self, n: int) -> None:
        """The n-th claim, made of a fact that may or may not be there."""
        scope = scope_of(f"s{n % self._subjects}")
        value = parse_value("pump", None, "value")
        claim = Claim(f"thing {n % 20}", "state", value, (f"f{n}",))
        self._application.release(self._principal, scope, ReleaseQuery("q", (claim,)))


def seconds_each(run: Run, ask: Callable[[int], None], count: int) -> list[float]:
    """Seconds of each of `count` calls, one after the other, after some to warm up."""
    for n in range(count // 10 + 1):
        ask(n)
    taken: list[float] = []
    for n in range(count):
        with run.timed(taken):
            ask(n)
    return taken


def recall(run: Run) -> Iterator[Result]:
    """The same scopes asked in a large store and alone."""
    large, small = corpus.large(run), corpus.small(run)
    taken = {}
    for store in (small, large):
        run.tell(f"recall at {store.events:,} events", 0, 1)
        with store.open() as runtime:
            asker = Asker(runtime, small.subjects)
            taken[store.events] = seconds_each(run, asker.recall, run.sizes.questions)
    among, alone = taken[large.events], taken[small.events]
    judged = run.sizes.large == MILLION
    name = f"recall, embedded, {large.events:,} events in {large.subjects:,} scopes"
    yield at_most(f"{name}, p50", percentile(among, 50), "ms", 5, judged=judged)
    yield at_most(f"{name}, p95", percentile(among, 95), "ms", 15, judged=judged)
    ratio = percentile(among, 50) / percentile(alone, 50)
    what = f"recall, p50 against the same scopes alone ({small.events:,} events)"
    yield at_most(what, ratio, "×", 1.1, judged=judged)


def release(run: Run) -> Iterator[Result]:
    """Claims judged in the large store."""
    store = corpus.large(run)
    run.tell("release", 0, 1)
    with store.open() as runtime:
        asker = Asker(runtime, store.subjects)
        taken = seconds_each(run, asker.release, run.sizes.questions)
    yield at_most("release, embedded, p50", percentile(taken, 50), "ms", 1)
    yield shown("release, embedded, p95", percentile(taken, 95), "ms")


def beside(run: Run) -> Iterator[Result]:
    """Recall while admission has all it can take; both against themselves alone.

    Questions come at fixed times, whatever the answers take, so waiting is counted.
    """
    count = run.sizes.events
    directory = DataDirectory(run.directory("beside"), {"XDG_STATE_HOME": str(run.scratch)})
    directory.init(1)
    runtime = Embedded(directory, MASTER, start=False)
    try:
        said = events(3 * count, run.seed, max(1, count // corpus.SCOPE_EVENTS))
        corpus.append(runtime, islice(said, count))
        corpus.drain(runtime)
        corpus.append(runtime, islice(said, count))
        run.tell("admission alone", 0, 2)
        began = time.perf_counter()
        corpus.drain(runtime)
        alone = time.perf_counter() - began
        corpus.append(runtime, said)
        run.tell("admission and recall", 1, 2)
        asker = Asker(runtime, max(1, count // corpus.SCOPE_EVENTS))
        together, waits = _together(runtime, asker)
    finally:
        runtime.close()
    name = f"recall beside saturated admission, {ASKED_A_SECOND}/s"
    yield at_most(f"{name}, p95", percentile(waits, 95), "ms", 15)
    yield shown(f"{name}, p50", percentile(waits, 50), "ms")
    yield at_least("admission beside recall", alone / together * 100, "% of its rate alone", 80)


def _together(runtime: Embedded, asker: Asker) -> tuple[float, list[float]]:
    """Seconds of admission, and how long after its time each question was answered."""
    taken: list[float] = []

    def admit() -> None:
        began = time.perf_counter()
        corpus.drain(runtime)
        taken.append(time.perf_counter() - began)

    admitting = threading.Thread(target=admit)
    waits: list[float] = []
    admitting.start()
    due = time.perf_counter()
    while admitting.is_alive() or len(waits) < 2:
        time.sleep(max(0.0, due - time.perf_counter()))
        asker.recall(len(waits))
        waits.append(time.perf_counter() - due)
        due += 1 / ASKED_A_SECOND
    admitting.join()
    return taken[0], waits
