"""Order independence of the model (SPEC §2; Ledger of Will, Proposition 1 and its swap closure).

Every public answer is the same after every interleaving of the topics; a history fails with its
seed. That the generated histories can tell is shown on rules that are wrong in subtle ways.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from functools import cached_property

import pytest
from hypothesis import given, settings

from tests.model.asking import answers, run
from tests.model.histories import (
    KINDS,
    NOTES,
    History,
    from_seed,
    histories,
    interleavings,
    swaps,
    topic,
)
from tests.model.rules import Fact, Record, World, scope_of

HISTORIES = 2000


def depends_on_order(history: History, n: int, rules: type[World] = World) -> bool:
    """Whether one of `n` interleavings answers otherwise than the history as published."""
    published = answers(history, run(history, history.records, rules))
    return any(
        answers(history, run(history, records, rules)) != published
        for records in interleavings(history.records, random.Random(history.seed), n)
    )


@pytest.mark.parametrize("part", range(5))
def test_every_interleaving_gives_the_same_answers(part: int) -> None:
    for seed in range(part, HISTORIES, 5):
        assert not depends_on_order(from_seed(seed, 10 + seed % 10), 3), f"seed {seed}"


@settings(max_examples=150, deadline=None)
@given(histories(24))
def test_the_same_found_by_hypothesis(history: History) -> None:
    assert not depends_on_order(history, 2), f"seed {history.seed}, size {len(history.records)}"


def test_swap_closure_for_every_pair_of_kinds() -> None:
    """Two records that are both next may come in either order, and the state after is the same."""
    swapped: Counter[frozenset[str]] = Counter()
    for seed in range(600):
        history = from_seed(seed, 16, notes=seed % 3 == 0)
        for n, records in swaps(history.records):
            pair = frozenset(topic(record) for record in records[n : n + 2])
            effective = pair & set(KINDS)
            if swapped[pair] < (80 if len(effective) == 2 else 3):
                one = answers(history, run(history, history.records[: n + 2]))
                other = answers(history, run(history, records[: n + 2]))
                assert one == other, f"seed {seed}, records {n} and {n + 1}"
                swapped[pair] += 1
    pairs = {frozenset(pair) for pair in itertools.combinations((*KINDS, *NOTES), 2)}
    assert pairs == set(swapped)
    assert all(swapped[frozenset(pair)] >= 40 for pair in itertools.combinations(KINDS, 2))


def test_two_records_of_one_kind_commute_across_subjects() -> None:
    """Within a subject the topic orders them; across subjects they may lie in two partitions."""
    kinds: set[str] = set()
    for seed in range(400):
        history = from_seed(seed, 14)
        for n in range(len(history.records) - 1):
            first, second = history.records[n : n + 2]
            if topic(first) == topic(second) and scope_of(first)[2] != scope_of(second)[2]:
                one = answers(history, run(history, [*history.records[:n], first, second]))
                other = answers(history, run(history, [*history.records[:n], second, first]))
                assert one == other, f"seed {seed}, records {n} and {n + 1}"
                kinds.add(topic(first))
    assert kinds == set(KINDS)


def test_the_whole_prefix_is_the_present_and_what_is_not_in_force_is_in_no_past() -> None:
    for seed in range(150):
        history = from_seed(seed, 14)
        model = run(history, history.records)
        for scope, t in [(s, t) for s in history.scopes for t in model.instants(s)]:
            assert model.public_facts(scope, t, len(history.records)) == model.public_facts(
                scope, t
            )
            for n in range(len(history.records)):
                past = model.public_facts(scope, t, n)
                assert all(model.status(scope, f) == "accepted" for f in past), f"seed {seed}"
                assert not any(model.retracted(scope, f) for f in past), f"seed {seed}"
                assert model.episodes(scope, n) <= model.episodes(scope), f"seed {seed}"
                then = model.audit(n).world().statuses
                assert all(then.get((scope, f)) == "accepted" for f in past), f"seed {seed}"


# Wrong rules, each of which some history tells from the right one


class Remembering(World):
    """Judges anew from the last statuses instead of from all parked."""

    @cached_property
    def statuses(self) -> dict[Fact, str]:
        before = self.before.statuses if self.records else {}
        statuses = {name: before.get(name, "parked") for name in self.assertions}
        while True:
            judged = {name: self.judge(name, statuses) for name in self.assertions}
            if judged == statuses:
                return statuses
            statuses = judged

    @property
    def before(self) -> World:
        """The world one record earlier."""
        return type(self)(self.records[:-1], self.adapters, self.policy)


class Forward(Remembering):
    """Lets no assertion in force fall back to parked."""

    @cached_property
    def statuses(self) -> dict[Fact, str]:
        before = self.before.statuses if self.records else {}
        wrong = {("accepted", "parked"), ("candidate", "parked")}
        return {
            name: "deleted" if (before.get(name), status) in wrong else status
            for name, status in World(self.records, self.adapters, self.policy).statuses.items()
        }


class Unwaiting(World):
    """Loses a retraction that comes before its fact."""

    def of_kind(self, kind: str) -> list[Record]:
        """Without the early retractions."""
        found = super().of_kind(kind)
        if kind != "retraction":
            return found
        return [
            record
            for n, record in enumerate(self.records)
            if record in found
            and any(r["event"].get("fact_id") == record["event"]["fact_id"]
                    for r in self.records[:n] if r["kind"] == "assertion")
        ]  # fmt: skip


class Arriving(World):
    """Covers what was read before the barrier instead of what was appended before it."""

    def covered(self, record: Record) -> bool:
        """By place in the reading."""
        at = self.records.index(record)
        return any(self.records.index(b) > at for b in self.barriers(scope_of(record)))


class Earlier(World):
    """Supersedes only what was there before, as GPM has it."""

    def supersedes(self, name: Fact) -> Fact | None:
        """Unless the target came later."""
        target = super().supersedes(name)
        if target is None:
            return None
        place = self.records.index
        return target if place(self.assertions[target]) < place(self.assertions[name]) else None


@pytest.mark.parametrize("rules", [Remembering, Forward, Unwaiting, Arriving])
def test_the_histories_tell_a_rule_that_depends_on_order(rules: type[World]) -> None:
    assert any(depends_on_order(from_seed(seed, 18), 3, rules) for seed in range(400))


def test_the_histories_tell_a_rule_that_differs() -> None:
    told_apart = (
        answers(history, run(history, history.records))
        != answers(history, run(history, history.records, Earlier))
        for history in map(from_seed, range(400))
    )
    assert any(told_apart)
