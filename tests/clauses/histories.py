"""Generated histories on the real core, for the clauses."""

from __future__ import annotations

import random
from collections.abc import Iterator

from projections.view import Group, Member
from schemas.scope import Scope
from tests.core.harness import Core, scope_of
from tests.model.histories import from_seed, interleaving

SEEDS = range(70_000, 70_250)


def cores(seeds: range = SEEDS, size: int = 16) -> Iterator[tuple[int, Core]]:
    """Cores that consumed a history each, with the seed for the failure's message."""
    for seed in seeds:
        history = from_seed(seed, size)
        yield seed, Core(history).consume(interleaving(history.records, random.Random(seed)))


def scopes(core: Core) -> list[Scope]:
    """The scopes of a core's history."""
    return [scope_of(named) for named in core.history.scopes]


def public(
    core: Core, scope: Scope, upto: int | None = None
) -> Iterator[tuple[int, Group, Member]]:
    """Every public fact at every instant at which the public view can change."""
    for group in core.groups(scope, upto):
        for t in group.instants():
            for member in group.at(t).public:
                yield t, group, member
