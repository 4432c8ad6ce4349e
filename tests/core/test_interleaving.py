"""Order independence on the real core (SPEC §2; Ledger of Will §3.2): every interleaving of the
topics that keeps each topic's own order ends in the same public view, and so does every swap."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.core.harness import Core, scope_of
from tests.model.histories import History, from_seed, interleavings, swaps
from tests.model.reference import ANY

PAIRS = ("observation", "assertion", "retraction", "deletion", "control")


def view(history: History, core: Core) -> list[Any]:
    """Everything public, at every instant at which it can change."""
    found: list[Any] = []
    ids = sorted({r["event"]["fact_id"] for r in history.records if r["kind"] == "assertion"})
    for named in history.scopes:
        scope = scope_of(named)
        found.append(core.episodes(scope))
        found.append([core.status(scope, fact_id) for fact_id in ids])
        found.append(core.public_facts(scope, ANY))
        found.append(core.conflicts(scope, ANY))
        instants = {t for group in core.groups(scope) for t in group.instants()}
        found.append({t: core.public_facts(scope, t) for t in sorted(instants)})
    return found


@pytest.mark.parametrize("block", range(10))
def test_every_interleaving_ends_in_the_same_public_view(block: int) -> None:
    for seed in range(20_000 + block * 30, 20_000 + (block + 1) * 30):
        history = from_seed(seed, 14)
        rng = random.Random(seed)
        views = [
            view(history, Core(history).consume(records))
            for records in interleavings(history.records, rng, 5)
        ]
        assert all(other == views[0] for other in views), f"seed {seed}"


def test_swapping_any_two_kinds_changes_nothing() -> None:
    """Swap closure: both orders are defined, and they agree, for every pair of kinds."""
    met: Counter[frozenset[str]] = Counter()
    for seed in range(30_000, 30_060):
        history = from_seed(seed, 9)
        whole = list(history.records)
        expected = view(history, Core(history).consume(whole))
        for n, swapped in swaps(whole):
            met[frozenset((whole[n]["kind"], whole[n + 1]["kind"]))] += 1
            assert view(history, Core(history).consume(swapped)) == expected, (
                f"seed {seed}, swap at {n}"
            )
    for one in PAIRS:
        for other in PAIRS:
            assert one == other or met[frozenset((one, other))] > 0, (one, other)
