"""I4: what is retracted, deleted or covered never comes back: now, as of then, or rebuilt."""

from __future__ import annotations

import random

from projections.kv_memory import MemoryStore
from schemas.scope import Scope
from tests.clauses.histories import cores, public, scopes
from tests.core.harness import Core
from tests.model.histories import from_seed
from tests.model.reference import ANY


def test_public_facts_are_neither_retracted_deleted_nor_covered_at_any_recorded_time() -> None:
    for seed, core in cores():
        steps = [None, *range(0, len(core.steps) + 1, 4)]
        for scope in scopes(core):
            now = core.horizon(scope)
            for upto in steps:
                for _, _, member in public(core, scope, upto):
                    assert not now.retracted(member.row.retractions), f"seed {seed}"
                    assert not now.in_effect(member.row.deletions), f"seed {seed}"
                    assert not now.covers(member.row.append), f"seed {seed}"
                    assert not now.blocked


def test_visible_episodes_are_neither_deleted_nor_covered_at_any_recorded_time() -> None:
    for seed, core in cores():
        for scope in scopes(core):
            now, scope16 = core.horizon(scope), core.hasher.scope(scope)
            for upto in (None, 4, 8, 12):
                for name in core.episodes(scope, upto):
                    row = core.follower.reader.observation(
                        scope16, core.hasher.observation(scope16, name)
                    )
                    assert row is not None
                    assert not now.in_effect(row.deletions), f"seed {seed}"
                    assert not now.covers(row.append), f"seed {seed}"


def test_more_retractions_and_deletions_never_bring_a_fact_of_the_past_back() -> None:
    """A fact gone from a past view stays gone from it, whatever barriers and marks come later."""
    for seed in range(72_000, 72_040):
        history = from_seed(seed, 14)
        rng = random.Random(seed)
        core = Core(history)
        gone: set[tuple[Scope, str]] = set()
        for record in history.records:
            core.consume([record])
            for scope in scopes(core):
                now = core.horizon(scope)
                for group in core.groups(scope):
                    for member in group.members.values():
                        if now.in_effect(member.row.deletions) and member.row.event is not None:
                            gone.add((scope, member.event.fact_id))
        for scope, fact_id in gone:
            upto = rng.randrange(len(core.steps) + 1)
            assert fact_id not in core.public_facts(scope, ANY, upto)


def test_a_rebuild_revives_nothing() -> None:
    for seed, core in cores(range(73_000, 73_030)):
        before = [(s, core.public_facts(s, ANY), core.episodes(s)) for s in scopes(core)]
        store = MemoryStore()
        core.follower = core.follow(store)
        core.follower.catch_up()
        after = [(s, core.public_facts(s, ANY), core.episodes(s)) for s in scopes(core)]
        assert before == after, f"seed {seed}"


def test_a_redelivered_record_revives_nothing() -> None:
    for seed in range(74_000, 74_030):
        history = from_seed(seed, 14)
        core = Core(history).consume(history.records)
        before = [(s, core.public_facts(s, ANY)) for s in scopes(core)]
        count = core.follower.checkpoint().count
        from tests.core.harness import intake

        core.admission.admit([intake(record) for record in history.records])
        assert core.follower.checkpoint().count == count, f"seed {seed}"
        assert before == [(s, core.public_facts(s, ANY)) for s in scopes(core)]
