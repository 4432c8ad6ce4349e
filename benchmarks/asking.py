"""Recall and release on the embedded runtime, one caller; recall beside saturated admission.

Scopes hold about a thousand events each, as they do with a million events over a thousand subjects.
The same scopes are asked in a store that has nothing else, so growth of the store shows alone.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from benchmarks import corpus
from benchmarks.partition import MASTER
from benchmarks.results import Result, at_least, at_most, percentile, shown
from benchmarks.run import MILLION, Run, now_micros
from benchmarks.workload import QUERY, events, scope_of
from gateway.application import Application
from gateway.requests import RecallQuery, ReleaseQuery
from gateway.views import EMBEDDED_CAPACITY
from mnemolog.data_directory import DataDirectory
from mnemolog.embedded import Embedded
from projections.claims import Claim
from schemas.events import Assertion
from schemas.principals import LOCAL, Principal

T = TypeVar("T")
ASKED_A_SECOND = 20


class Asker:
    """One caller of an application over the benchmark's scopes."""

    def __init__(self, runtime: Embedded, subjects: int) -> None:
        principal = runtime.registry().principal(LOCAL)
        assert principal is not None
        self._principal: Principal = principal
        self._application = Application(runtime, MASTER, now_micros, views=EMBEDDED_CAPACITY)
        self.subjects = subjects

    def recall(self, n: int) -> None:
        """The n-th question."""
        scope = scope_of(f"s{n % self.subjects}")
        self._application.recall(self._principal, scope, RecallQuery(QUERY))

    def release(self, said: Assertion) -> None:
        """May it be said what an assertion says?"""
        claim = Claim(said.entity, said.attribute, said.value, (said.fact_id,))
        scope = said.envelope.scope
        self._application.release(self._principal, scope, ReleaseQuery("q", (claim,)))


def seconds_each(run: Run, ask: Callable[[T], None], asked: Iterable[T]) -> list[float]:
    """Seconds of each call, one after the other."""
    taken: list[float] = []
    for n in asked:
        with run.timed(taken):
            ask(n)
    return taken


def recall(run: Run) -> Iterator[Result]:
    """Scopes drawn at random in a large store; some of them again in a store of their own.

    A scope's first question finds nothing prepared, a later one may; a draw is either.
    """
    large, small = corpus.large(run), corpus.small(run)
    count = max(run.sizes.questions, 2 * large.subjects)
    rng = random.Random(run.seed)
    drawn = [rng.randrange(large.subjects) for _ in range(count)]
    run.tell("recall", 0, 1)
    with large.open() as runtime, small.open() as few:
        first = seconds_each(run, Asker(runtime, large.subjects).recall, range(large.subjects))
        draws = seconds_each(run, Asker(runtime, large.subjects).recall, drawn)
        among, alone = _in_turn(run, Asker(runtime, small.subjects), Asker(few, small.subjects))
    judged = run.sizes.large == MILLION
    name = f"recall, embedded, {large.events:,} events in {large.subjects:,} scopes"
    yield at_most(f"{name}, p50", percentile(draws, 50), "ms", 5, judged=judged)
    yield at_most(f"{name}, p95", percentile(draws, 95), "ms", 15, judged=judged)
    if large.subjects > 1:
        yield shown("recall, first question of a scope, p50", percentile(first, 50), "ms")
    what = f"recall, p50 against the same scopes alone ({small.events:,} events)"
    ratio = percentile(among, 50) / percentile(alone, 50)
    yield at_most(what, ratio, "×", 1.1, judged=judged)


def _in_turn(run: Run, one: Asker, other: Asker) -> tuple[list[float], list[float]]:
    """The same questions put to two stores in turn, after each scope was asked once."""
    taken: tuple[list[float], list[float]] = [], []
    for n in range(-one.subjects, run.sizes.questions):
        for asker, seconds in zip((one, other), taken, strict=True):
            with run.timed(seconds):
                asker.recall(n)
    return taken[0][one.subjects :], taken[1][one.subjects :]


def release(run: Run) -> Iterator[Result]:
    """Claims of the large store's own assertions; some are disputed or retracted by now."""
    store = corpus.large(run)
    run.tell("release", 0, 1)
    said = events(run.sizes.large, run.seed, store.subjects)
    asserted = (event for _, event in said if isinstance(event, Assertion))
    with store.open() as runtime:
        asker = Asker(runtime, store.subjects)
        taken = seconds_each(run, asker.release, islice(asserted, run.sizes.questions))
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
