"""What the product does for an event or a question, counted: no clock, the same on every machine.

A seeded workload, seeded keys, a clock that ticks. Counted are calls of the ports, rows and bytes
written, and calls of Python functions (`sys.setprofile`), each an event, an entry or a question.
`baseline.json` holds the figures last agreed to: a test fails when one grows by more than `BOUND`,
and tells when one shrinks by as much. Either way the next step is one command:

    python -m benchmarks.counts            # compare with the baseline
    python -m benchmarks.counts --update   # agree to what is measured now
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from types import CodeType, FrameType

from benchmarks.client import json_of
from benchmarks.corpus import append, drain
from benchmarks.crowded import facts
from benchmarks.floor import Tape
from benchmarks.partition import MASTER, RULES, SIGNER, TOPICS, admit
from benchmarks.workload import QUERY, START, Said, events, intake, scope_of
from gateway.application import Application
from gateway.publishing import publish_json
from gateway.requests import RecallQuery, ReleaseQuery
from mnemolog.data_directory import DataDirectory
from mnemolog.embedded import Embedded
from processors.admission import Admission
from projections.claims import Claim
from projections.follower import Follower
from projections.kv_memory import MemoryStore
from projections.kv_rocks import RocksStore
from projections.log_memory import MemoryLog
from projections.vault import WrappedVault
from schemas.codec import Codec
from schemas.events import Assertion
from schemas.principals import LOCAL
from schemas.sealing import Hasher, SeededKeys

BASELINE = Path(__file__).with_name("baseline.json")
BOUND = 0.05
SLACK = 0.01  # for what is done less often than once in five times
SEED = 7
EVENTS = 2400  # over two scopes: each gets a block of its index built
SUBJECTS = 2
CROWD = 3000
TRIAL = 300
QUESTIONS = 20
REQUEST = 100

Figures = dict[str, float]


class Calls:
    """Counts the calls of Python functions in this thread, and those of some functions apart."""

    def __init__(self, watched: dict[str, Sequence[CodeType]] | None = None) -> None:
        self.total = 0
        self.watched = dict.fromkeys(watched or {}, 0)
        self._names = {code: name for name, codes in (watched or {}).items() for code in codes}

    def of(self, action: Callable[[], object]) -> None:
        """Add those of an action."""
        names, watched, total = self._names, self.watched, 0

        def seen(frame: FrameType, what: str, _: object) -> None:
            nonlocal total
            if what == "call":
                total += 1
                name = names.get(frame.f_code)
                if name is not None:
                    watched[name] += 1

        sys.setprofile(seen)
        try:
            action()
        finally:
            sys.setprofile(None)
        self.total += total


class _CountedLog(MemoryLog):
    """A log that counts what is appended to it."""

    calls = 0
    size = 0

    def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[tuple[bytes | None, tuple[tuple[str, bytes], ...]]],
    ) -> list[int]:
        """See `Log`."""
        self.calls += 1
        self.size += sum(len(value or b"") for value, _ in records)
        return super().append(topic, partition, records)


class Partition:
    """One partition in memory, every port counted."""

    def __init__(self) -> None:
        ticks = count(START)
        self.log = _CountedLog(1, lambda: START // 1000)
        self.kept = Tape(MemoryStore())
        self.vault = WrappedVault(self.kept, MASTER.derive("record-keys"))
        self.hasher = Hasher(MASTER.derive("keyed-hashes"))
        self.state = Tape(MemoryStore())
        self.admission = Admission(
            self.follower(self.state),
            TOPICS,
            Codec(),
            SeededKeys(b"counts"),
            lambda: next(ticks),
            lambda: RULES,
        )
        self._admitted: list[Said] = []

    def follower(self, state: Tape) -> Follower:
        """A follower of the partition into another store."""
        return Follower(0, self.log, TOPICS.ledger, state, self.vault, self.hasher)

    def admit(self, said: Sequence[Said]) -> Figures:
        """What each of some events takes."""
        records = list(intake([*self._admitted, *said], SIGNER, TOPICS))[len(self._admitted) :]
        self._admitted += said
        before, calls = self._totals(), Calls()
        calls.of(lambda: admit(self.admission, records))
        grown = {name: value - before[name] for name, value in self._totals().items()}
        return _each({**grown, "Python calls": calls.total}, len(records))

    def _totals(self) -> Figures:
        return {
            **_of_store(self.state),
            "vault rows written": self.kept.rows,
            "log appends": self.log.calls,
            "log bytes": self.log.size,
        }

    def replay(self) -> Figures:
        """What each entry takes to fold anew."""
        state, calls = Tape(MemoryStore()), Calls()
        fresh = self.follower(state)
        calls.of(fresh.catch_up)
        figures = {**_of_store(state), "Python calls": calls.total}
        return _each(figures, fresh.checkpoint().count)


def _of_store(tape: Tape) -> Figures:
    return {
        "store gets": tape.gets,
        "store scans": tape.scans,
        "store rows written": tape.rows,
        "store bytes written": tape.bytes,
    }


def _each(figures: Figures, times: int) -> Figures:
    return {name: round(value / times, 3) for name, value in figures.items()}


def asking(scratch: Path) -> dict[str, Figures]:
    """What a question and a published event take at the door of the embedded runtime."""
    directory = DataDirectory(scratch / "data", {"XDG_STATE_HOME": str(scratch)})
    directory.init(1)
    ticks = count(START)
    clock: Callable[[], int] = lambda: next(ticks)  # noqa: E731 - one clock for both
    runtime = Embedded(
        directory, MASTER, clock=clock, key_source=SeededKeys(b"counts"), start=False
    )
    try:
        append(runtime, events(EVENTS, SEED, SUBJECTS))
        drain(runtime)
        return _asked(runtime, clock)
    finally:
        runtime.close()


def _asked(runtime: Embedded, clock: Callable[[], int]) -> dict[str, Figures]:
    application = Application(runtime, MASTER, clock)
    principal = runtime.registry().principal(LOCAL)
    assert principal is not None
    scopes = [scope_of(f"s{n}") for n in range(SUBJECTS)]
    ask = RecallQuery(QUERY)
    mixed = events(EVENTS, SEED, SUBJECTS)
    fact = next(event for _, event in mixed if isinstance(event, Assertion))
    claim = Claim(fact.entity, fact.attribute, fact.value, (fact.fact_id,))
    its_scope = fact.envelope.scope
    said = [json_of(kind, event) for kind, event in events(REQUEST, SEED, SUBJECTS, prefix="more-")]
    body = json.dumps(said).encode()
    return {
        "recall, first of a scope": _questions(
            [lambda scope=scope: application.recall(principal, scope, ask) for scope in scopes]  # type: ignore[misc]
        ),
        "recall, again": _questions(
            [lambda: application.recall(principal, scopes[0], ask)] * QUESTIONS
        ),
        "release": _questions(
            [lambda: application.release(principal, its_scope, ReleaseQuery("q", (claim,)))]
            * QUESTIONS
        ),
        "publish as JSON": _questions(
            [lambda: publish_json(application, principal, body, False, clock, 0.0)], REQUEST
        ),
    }


def _questions(asks: Sequence[Callable[[], object]], of_each: int = 1) -> Figures:
    reads = (RocksStore.get.__code__, RocksStore.get_many.__code__, RocksStore.scan.__code__)
    calls = Calls({"store calls": reads})
    for ask in asks:
        calls.of(ask)
    return _each({**calls.watched, "Python calls": calls.total}, len(asks) * of_each)


def measure() -> dict[str, Figures]:
    """Every figure, by what was done."""
    Partition().admit(list(events(TRIAL, SEED, SUBJECTS)))  # whatever is made once is made here
    mixed, crowded = Partition(), Partition()
    empty = crowded.admit(list(facts("crowd", TRIAL, "first-")))
    crowded.admit(list(facts("crowd", CROWD, "")))
    with tempfile.TemporaryDirectory(prefix="mnemolog-counts-") as scratch:
        return {
            "admission, mixed kinds": mixed.admit(list(events(EVENTS, SEED, SUBJECTS))),
            "replay": mixed.replay(),
            "admission of facts, empty scope": empty,
            f"admission of facts, scope of {CROWD}": crowded.admit(
                list(facts("crowd", TRIAL, "last-"))
            ),
            **asking(Path(scratch)),
        }


def compare(
    measured: dict[str, Figures], agreed: dict[str, Figures]
) -> tuple[list[str], list[str]]:
    """What is worse than agreed beyond the bound, and what is better, a line each.

    A figure that only one side has is worse: nobody agreed to it, or nobody measures it.
    """
    worse, better = [], []
    for what in sorted(measured.keys() | agreed.keys()):
        ours, theirs = measured.get(what, {}), agreed.get(what, {})
        for name in sorted(ours.keys() | theirs.keys()):
            now, then = ours.get(name), theirs.get(name)
            if now is None or then is None or now > then * (1 + BOUND) + SLACK:
                worse.append(f"{what}: {name}: {then} agreed, {now} measured")
            elif now < then * (1 - BOUND) - SLACK:
                better.append(f"{what}: {name}: {then} agreed, {now} measured")
    return worse, better


def baseline() -> dict[str, Figures]:
    """What was last agreed to."""
    agreed: dict[str, Figures] = json.loads(BASELINE.read_text())
    return agreed


def main() -> None:
    """Compare, or agree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.counts", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write what is measured now")
    asked = parser.parse_args()
    measured = measure()
    worse, better = compare(measured, baseline() if BASELINE.exists() else {})
    for title, lines in (("worse", worse), ("better", better)):
        for line in lines:
            print(f"{title}: {line}")
    if asked.update:
        BASELINE.write_text(json.dumps(measured, indent=1) + "\n")
        print(f"{BASELINE.name} holds what is measured now")
    elif better or worse:
        print("if this is meant: python -m benchmarks.counts --update")
    sys.exit(1 if worse and not asked.update else 0)


if __name__ == "__main__":
    main()
