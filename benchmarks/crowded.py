"""One scope with very many facts, against an empty one in the same store.

Every fact has a key of its own but for one key that two facts dispute, so what grows is the scope.
A trial admits observations and assertions that quote them; in an empty scope it is the first thing
that happens there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice

from benchmarks.corpus import CHUNK, append, drain
from benchmarks.partition import MASTER
from benchmarks.results import Result, at_most, percentile, shown
from benchmarks.run import Run, now_micros
from benchmarks.workload import Said, assertion, envelope, observation
from gateway.application import Application
from gateway.requests import Filters, ReleaseQuery
from mnemolog.data_directory import DataDirectory
from mnemolog.embedded import Embedded
from projections.claims import Claim
from schemas.kinds import Kind
from schemas.principals import LOCAL
from schemas.scope import Scope
from schemas.values import parse_value

TRIAL = 300
TRIALS = 5
CITED = 200  # facts that quote one observation
FULL, DISPUTED = "full", "disputed thing"


def facts(subject: str, count: int, prefix: str) -> Iterator[Said]:
    """`count` facts of as many keys, and the observations that they quote."""
    source, quote = "", ""
    for n in range(count):
        if n % CITED == 0:
            source, quote = f"{prefix}o{n}", f"Reading {n}"
            common = envelope(source, subject, n)
            yield Kind.OBSERVATION, observation(common, f"{quote} of the meters in hall 7.")
        common = envelope(f"{prefix}e{n}", subject, n)
        yield (
            Kind.ASSERTION,
            assertion(common, f"{prefix}f{n}", f"meter {prefix}{n}", "state", "on", source, quote),
        )


def dispute(subject: str) -> Iterator[Said]:
    """Two facts of one key that cannot both be so."""
    for word in ("open", "shut"):
        common = envelope(f"d-{word}", subject, 0)
        yield Kind.OBSERVATION, observation(common, f"The door is {word}.")
        common = envelope(f"d-{word}-fact", subject, 1)
        yield (
            Kind.ASSERTION,
            assertion(common, f"d-{word}", DISPUTED, "state", word, f"d-{word}", "The door is"),
        )


class Scopes:
    """A store with one full scope, and the calls that are compared."""

    def __init__(self, run: Run) -> None:
        directory = DataDirectory(run.directory("crowded"), {"XDG_STATE_HOME": str(run.scratch)})
        directory.init(1)
        self.runtime = Embedded(directory, MASTER, start=False)
        self._run = run
        principal = self.runtime.registry().principal(LOCAL)
        assert principal is not None
        self._principal = principal
        self._application = Application(self.runtime, MASTER, now_micros)

    def fill(self, count: int) -> None:
        """Put `count` facts into the full scope."""
        said, done = facts(FULL, count, ""), 0
        while chunk := list(islice(said, CHUNK)):
            append(self.runtime, chunk)
            drain(self.runtime)
            done += len(chunk)
            self._run.tell(f"a scope of {count:,} facts", done, count)

    def admission(self, subject: str, trial: int) -> float:
        """Seconds an event of a trial."""
        count = append(self.runtime, facts(subject, TRIAL, f"{subject}-{trial}-"))
        began = time.perf_counter()
        drain(self.runtime)
        return (time.perf_counter() - began) / count

    def conflicts(self, subject: str) -> None:
        """Whether the disputed key is in conflict; it is."""
        filters = Filters(entity=DISPUTED, attribute="state")
        page = self._application.conflicts(self._principal, self._scope(subject), filters)
        if len(page.items) != 1:
            raise AssertionError(f"{len(page.items)} conflicts in {subject}")

    def release(self, subject: str) -> None:
        """May it be said what the last trial's first fact says? It may."""
        fact = f"{subject}-0-f0"
        claim = Claim(f"meter {subject}-0-0", "state", parse_value("on", None, "value"), (fact,))
        answer = self._application.release(
            self._principal, self._scope(subject), ReleaseQuery("q", (claim,))
        )
        if answer.decision != "release":
            raise AssertionError(f"{subject}: {answer}")

    @staticmethod
    def _scope(subject: str) -> Scope:
        return Scope("acme", "bench", subject)


def rows(run: Run) -> Iterator[Result]:
    """Admission, conflict check and release, full against empty."""
    scopes = Scopes(run)
    try:
        scopes.fill(run.sizes.facts)
        run.tell("full and empty scopes in turn", 0, 1)
        full, empty = [], []
        for trial in range(TRIALS):
            full.append(scopes.admission(FULL, trial))
            empty.append(scopes.admission(f"empty-{trial}", 0))
        name = f"a scope of {run.sizes.facts:,} facts against an empty one"
        yield shown("admission into an empty scope", min(empty) * 1e6, "µs/event")
        yield at_most(f"{name}: admission", min(full) / min(empty), "×", 2)
        for subject in (FULL, "empty-0"):
            append(scopes.runtime, dispute(subject))
            drain(scopes.runtime)
        for what, ask in (("conflict check", scopes.conflicts), ("release", scopes.release)):
            crowded, alone = (_median(run, ask, subject) for subject in (FULL, "empty-0"))
            yield shown(f"{what} in a scope of {TRIAL} facts, p50", alone, "ms")
            yield at_most(f"{name}: {what}", crowded / alone, "×", 2)
    finally:
        scopes.runtime.close()


def _median(run: Run, ask: Callable[[str], None], subject: str) -> float:
    taken: list[float] = []
    for _ in range(run.sizes.questions):
        with run.timed(taken):
            ask(subject)
    return percentile(taken, 50)
