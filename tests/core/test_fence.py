"""Two writers that both believe they own a partition cannot fork it (SPEC §3, single writer)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from projections.ports import Headers, LogRecord
from schemas.entry import parse_entry
from schemas.errors import LedgerCorrupt
from tests.core.harness import TOPICS, Core, intake
from tests.core.test_interleaving import view
from tests.model.histories import from_seed


class Rival:
    """Two cores on one log and vault; `before` runs just before the next append to the ledger."""

    def __init__(self, seed: int) -> None:
        self.history = from_seed(seed, 14)
        self.one = Core(self.history, seed=b"one")
        self.two = Core(self.history, seed=b"two", log=self.one.log, vault=self.one.vault)
        self.before: Callable[[], None] | None = None
        append = self.one.log.append

        def hooked(
            topic: str, partition: int, records: Sequence[tuple[bytes | None, Headers]]
        ) -> list[int]:
            act, self.before = self.before, None
            if topic == TOPICS.ledger and act is not None:
                act()
            return append(topic, partition, records)

        self.one.log.append = hooked  # type: ignore[method-assign]

    def overtake(self, records: list[LogRecord]) -> None:
        """Let the other writer admit these just before the first one appends."""

        def act() -> None:
            self.two.admission.admit(records)

        self.before = act


def test_a_beaten_writer_decides_again_and_nothing_is_lost_or_doubled() -> None:
    for seed in range(50_000, 50_100):
        rival, rng = Rival(seed), random.Random(seed)
        records = [intake(record) for record in rival.history.records]
        undisturbed = Core(rival.history).consume(rival.history.records)
        for index, record in enumerate(records):
            if rng.random() < 0.5:
                ahead = records[: index + 1 + rng.randrange(2)]
                rival.overtake(ahead)
            rival.one.admission.admit([record])
        rival.two.follower.catch_up()
        rival.one.follower.catch_up()
        assert rival.one.follower.checkpoint() == rival.two.follower.checkpoint(), f"seed {seed}"
        assert rival.one.follower.checkpoint().positions == (
            undisturbed.follower.checkpoint().positions
        )
        rival.one.steps = undisturbed.steps
        assert view(rival.history, rival.one) == view(rival.history, undisturbed), f"seed {seed}"


def test_a_resent_batch_is_ignored_and_counted() -> None:
    history = from_seed(50_001, 10)
    core = Core(history).consume(history.records)
    stored = [(r.value, ()) for r in core.log.read(TOPICS.ledger, 0, 0, 100)]
    before = core.follower.checkpoint()
    core.log.append(TOPICS.ledger, 0, stored[-3:])
    core.follower.catch_up()
    after = core.follower.checkpoint()
    assert (after.count, after.hash, after.ignored) == (before.count, before.hash, 3)


def test_an_entry_whose_predecessor_was_never_seen_is_damage() -> None:
    history = from_seed(50_002, 10)
    core, other = Core(history).consume(history.records), Core(history, seed=b"elsewhere")
    other.consume(history.records)
    foreign = other.log.read(TOPICS.ledger, 0, 0, 100)[-1].value
    parse_entry(foreign)
    core.log.append(TOPICS.ledger, 0, [(foreign, ())])
    with pytest.raises(LedgerCorrupt, match="never seen"):
        core.follower.catch_up()
