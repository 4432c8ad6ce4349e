"""Two writers that both believe they own a partition cannot fork it (SPEC §3, single writer).

Either may act at any moment between the other's steps, and either may die there; nothing of the
intake is lost or doubled, and the chain stays one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from projections.kv_memory import MemoryStore
from projections.ports import Headers, LogRecord
from schemas.entry import NO_FOLLOW_UP, Entry, header_bytes, make_entry, parse_entry
from schemas.errors import LedgerCorrupt
from tests.core.harness import TOPICS, Core, intake
from tests.core.test_interleaving import view
from tests.core.test_same_bytes import rows
from tests.model.histories import History, from_seed

STEPS = (
    ("vault", "put"),
    ("log", "append"),
    ("log", "read"),
    ("store", "write"),
    ("vault", "erase"),
)


class Killed(Exception):
    """The writer dies here."""


class Moments:
    """Lets something happen just before a given step of a core, once."""

    def __init__(self, core: Core) -> None:
        self.act: Callable[[], None] | None = None
        self.step = ("", "")
        self.met: Counter[tuple[str, str]] = Counter()
        for part, method in STEPS:
            target: Any = {"vault": core.vault, "log": core.log, "store": core.store}[part]
            self._hook(target, part, method)

    def _hook(self, target: Any, part: str, method: str) -> None:
        original = getattr(target, method)

        def hooked(*args: Any, **options: Any) -> Any:
            act = self.act
            if act is not None and self.step == (part, method):
                self.act = None
                self.met[self.step] += 1
                act()
            return original(*args, **options)

        setattr(target, method, hooked)

    def before(self, step: tuple[str, str], act: Callable[[], None]) -> None:
        """Arm one moment."""
        self.step, self.act = step, act


class Rival:
    """Two cores with stores of their own on one log and vault."""

    def __init__(self, seed: int) -> None:
        self.history = from_seed(seed, 14)
        self.records = [intake(record) for record in self.history.records]
        self.undisturbed = Core(self.history).consume(self.history.records)
        self.one = Core(self.history, seed=b"one")
        self.two = Core(self.history, seed=b"two", log=self.one.log, vault=self.one.vault)

    def check(self, seed: int) -> None:
        """One chain, every record once, both stores alike, and the answers of one writer alone."""
        self.one.follower.catch_up()
        self.two.follower.catch_up()
        assert self.one.follower.checkpoint() == self.two.follower.checkpoint(), f"seed {seed}"
        assert rows(self.one.store) == rows(self.two.store), f"seed {seed}"
        assert places(self.one) == places(self.undisturbed), f"seed {seed}"
        self.one.steps = self.undisturbed.steps
        assert view(self.history, self.one) == view(self.history, self.undisturbed), f"seed {seed}"


def chain(core: Core) -> list[Entry]:
    """The entries that extend each other, from the first one on."""
    entries, head = [], bytes(32)
    for record in core.log.read(TOPICS.ledger, 0, 0, 100_000):
        entry = parse_entry(record.value)
        if entry.header.previous == head:
            head = entry.hash
            entries.append(entry)
    return entries


def places(core: Core) -> list[tuple[int, int]]:
    """The intake place of every entry that is no follow-up, sorted: each must be there once."""
    headers = [entry.header for entry in chain(core)]
    found = sorted((h.topic, h.offset) for h in headers if h.follows == NO_FOLLOW_UP)
    assert len(found) == len(set(found))
    return found


@pytest.mark.parametrize("step", STEPS[:4], ids="-".join)
def test_a_beaten_writer_decides_again_and_nothing_is_lost_or_doubled(
    step: tuple[str, str],
) -> None:
    met = 0
    for seed in range(50_000, 50_040):
        rival, rng = Rival(seed), random.Random(seed)
        moments = Moments(rival.one)
        for index, record in enumerate(rival.records):
            if rng.random() < 0.5:
                ahead = rival.records[: index + 1 + rng.randrange(2)]
                moments.before(step, partial(_admit, rival.two, ahead))
            rival.one.admission.admit([record])
            moments.act = None
        met += moments.met[step]
        rival.check(seed)
    assert met > 100


@pytest.mark.parametrize("step", STEPS, ids="-".join)
def test_a_writer_that_dies_at_any_step_resumes_where_the_ledger_says(
    step: tuple[str, str],
) -> None:
    met = 0
    for seed in range(51_000, 51_040):
        rival, rng = Rival(seed), random.Random(seed)
        core = rival.one
        moments = Moments(core)
        for index in range(len(rival.records)):
            if rng.random() < 0.3:
                moments.before(step, _die)
            try:
                core.admission.admit(rival.records[: index + 1])
            except Killed:
                met += 1
                core = Core(rival.history, bytes((met % 256,)), core.log, core.store, core.vault)
                core.admission.resume()
            moments.act = None
        core.admission.admit(rival.records)
        rival.one = core
        rival.check(seed)
    assert met > 20


def _die() -> None:
    raise Killed


def test_a_batch_torn_by_a_rival_is_taken_up_by_whoever_comes_next() -> None:
    """Half of a batch gets into the log, then the writer dies."""
    for seed in range(52_000, 52_040):
        rival = Rival(seed)
        append = rival.one.log.append

        def torn(
            topic: str,
            partition: int,
            records: Sequence[tuple[bytes | None, Headers]],
            append: Any = append,
        ) -> list[int]:
            append(topic, partition, records[: len(records) // 2])
            raise Killed

        rival.one.log.append = torn  # type: ignore[method-assign]
        with pytest.raises(Killed):
            rival.one.admission.admit(rival.records)
        rival.one.log.append = append  # type: ignore[method-assign]
        rival.two.admission.resume()
        rival.two.admission.admit(rival.records)
        rival.check(seed)


def told(seed: int) -> tuple[History, Core]:
    history = from_seed(seed, 10)
    return history, Core(history).consume(history.records)


def test_a_record_given_twice_in_one_batch_is_admitted_once() -> None:
    history = from_seed(50_003, 10)
    core = Core(history)
    records = [intake(record) for record in history.records]
    assert core.admission.admit([*records, *records]) == len(records)
    assert core.admission.admit(records) == 0


def test_a_resent_batch_is_ignored_and_counted_and_keeps_its_keys() -> None:
    _, core = told(50_001)
    stored = [(r.value, ()) for r in core.log.read(TOPICS.ledger, 0, 0, 100)]
    before = core.follower.checkpoint()
    core.log.append(TOPICS.ledger, 0, stored[-3:])
    core.follower.catch_up()
    after = core.follower.checkpoint()
    assert (after.count, after.hash, after.ignored) == (before.count, before.hash, 3)
    core.follow(MemoryStore()).catch_up()


def test_the_keys_of_a_beaten_writers_bodies_are_destroyed() -> None:
    rival = Rival(50_004)
    moments = Moments(rival.one)
    moments.before(("log", "append"), partial(_admit, rival.two, rival.records[:3]))
    rival.one.admission.admit(rival.records[:3])
    stored = [parse_entry(r.value) for r in rival.one.log.read(TOPICS.ledger, 0, 0, 100)]
    winners = {entry.hash for entry in chain(rival.one)}
    beaten = [entry.header.key_id for entry in stored if entry.hash not in winners]
    assert beaten
    assert rival.one.vault.get_many(beaten) == [None] * len(beaten)


def _admit(core: Core, records: list[LogRecord]) -> None:
    core.admission.admit(records)


def test_an_injected_entry_cannot_destroy_anothers_key() -> None:
    """It names a victim's key id and a predecessor that was seen; the key does not open it."""
    _, core = told(50_005)
    entries = chain(core)
    victim, last = entries[0], entries[-1]
    header = replace(last.header, key_id=victim.header.key_id, recorded_at=1)
    forged = make_entry(header, header_bytes(header), last.sealed)
    core.log.append(TOPICS.ledger, 0, [(forged.stored, ())])
    (before,) = core.vault.get_many([victim.header.key_id])
    core.follower.catch_up()
    assert core.vault.get_many([victim.header.key_id]) == [before]


def test_an_entry_whose_predecessor_was_never_seen_is_damage() -> None:
    history, core = told(50_002)
    other = Core(history, seed=b"elsewhere").consume(history.records)
    foreign = other.log.read(TOPICS.ledger, 0, 0, 100)[-1].value
    core.log.append(TOPICS.ledger, 0, [(foreign, ())])
    with pytest.raises(LedgerCorrupt, match="never seen"):
        core.follower.catch_up()
