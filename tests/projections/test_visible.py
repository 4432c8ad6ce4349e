"""The view in bulk says of each record what `view` says of it alone (I2, I3, I4; SPEC §8)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import msgspec
import pytest

from projections import glances, rows
from projections.rows import Document
from projections.view import Group, episode_visible
from projections.visible import Sight, Viewer
from schemas.bodies import Witness
from schemas.errors import StoreDamaged
from schemas.events import Assertion, Observation
from schemas.intervals import Bound
from schemas.scope import Scope
from tests.core.harness import Core, scope_of
from tests.core.telling import SCOPE, core_told
from tests.model.histories import History, from_seed, interleaving, tangled
from tests.model.saying import claim, fact, observe, quote

SEEDS = range(81_000, 81_120)
Seen = tuple[int, str, str, tuple[int, Bound] | None]


def documents_of(core: Core, scope: Scope) -> list[tuple[int, Document]]:
    reader, scope16 = core.follower.reader, core.hasher.scope(scope)
    found = []
    for ordinal in range(reader.head(scope16).documents):
        document = reader.document(scope16, ordinal)
        assert document is not None
        found.append((ordinal, document))
    return found


def ordinals_of(core: Core, scope: Scope) -> range:
    return range(core.follower.reader.head(core.hasher.scope(scope)).documents)


def one_by_one(core: Core, scope: Scope, t: int, upto: int | None) -> list[Seen]:
    """Ordinal, type, text and overlap of what may be seen, each document judged by itself."""
    reader, scope16 = core.follower.reader, core.hasher.scope(scope)
    horizon = core.horizon(scope, upto)
    found: list[Seen] = []
    for ordinal, document in documents_of(core, scope):
        record16 = document.record
        if not document.fact:
            row = reader.observation(scope16, record16)
            assert row is not None
            if episode_visible(reader, scope16, record16, row, horizon, core.policy):
                found.append((ordinal, "episode", document.text, None))
            continue
        asserted = reader.fact(scope16, record16)
        assert asserted is not None
        if horizon.blocked:
            continue
        group = Group(reader, scope16, asserted.entity_attribute, horizon, core.policy)
        public, conflict, _ = group.at(t)
        if record16 in {member.record for member in public}:
            found.append((ordinal, "fact", document.text, None))
        if record16 in {member.record for member in conflict}:
            one = group.conflict_at(t)
            assert one is not None
            found.append((ordinal, "conflict", document.text, (one.start, one.end)))
    return found


def viewer(core: Core, scope: Scope, t: int, upto: int | None) -> Viewer:
    reader, scope16 = core.follower.reader, core.hasher.scope(scope)
    return Viewer(reader, scope16, core.horizon(scope, upto), core.policy, t, {})


def described(sights: list[Sight]) -> list[Seen]:
    return [(s.ordinal, s.candidate.kind, s.text, s.candidate.overlap) for s in sights]


def cores(make: Callable[[int, int], History]) -> Iterator[tuple[int, Core]]:
    for seed in SEEDS:
        history = make(seed, 24)
        yield seed, Core(history).consume(interleaving(history.records, random.Random(seed)))


def instants(core: Core, scope: Scope) -> list[int]:
    """Every instant at which something changes, and one before and after all."""
    points = sorted({point for group in core.groups(scope) for point in group.instants()})
    return [points[0] - 1, *points, points[-1] + 1] if points else [0]


@pytest.mark.parametrize("make", [from_seed, tangled])
def test_in_bulk_as_one_by_one(make: Callable[[int, int], History]) -> None:
    compared = 0
    for seed, core in cores(make):
        rng = random.Random(seed)
        for scope in map(scope_of, core.history.scopes):
            ordinals = ordinals_of(core, scope)
            for upto in (None, rng.randrange(len(core.steps)), len(core.steps) - 1):
                for t in instants(core, scope):
                    expected = one_by_one(core, scope, t, upto)
                    compared += len(expected)
                    for sights in (
                        viewer(core, scope, t, upto).see(ordinals),
                        viewer(core, scope, t, upto).see_all(len(ordinals)),
                    ):
                        assert described(sights) == expected, f"seed {seed} {scope} {t} {upto}"
    assert compared > 1_000


def test_looking_again_and_in_parts_shows_the_same() -> None:
    for seed, core in cores(from_seed):
        for scope in map(scope_of, core.history.scopes):
            ordinals = ordinals_of(core, scope)
            for t in instants(core, scope):
                one = viewer(core, scope, t, None)
                parts = [sight for ordinal in ordinals for sight in one.see([ordinal])]
                assert described(parts) == one_by_one(core, scope, t, None), f"seed {seed}"
                assert described(one.see(ordinals)) == described(parts), f"seed {seed}"


def test_nothing_changes_within_the_stretch_it_names() -> None:
    stretches = 0
    for seed, core in cores(from_seed):
        for scope in map(scope_of, core.history.scopes):
            for t in instants(core, scope):
                one = viewer(core, scope, t, None)
                sights = described(one.see(ordinals_of(core, scope)))
                assert one.since is None or one.since <= t
                assert one.until is None or one.until > t
                ends = {one.since, None if one.until is None else one.until - 1} - {None}
                for end in ends:
                    assert end is not None
                    assert one_by_one(core, scope, end, None) == sights, f"seed {seed}"
                    stretches += 1
    assert stretches > 100


def test_grounds_that_came_later_do_not_show_a_fact_before() -> None:
    core = core_told(
        observe("o"),
        claim("b", [quote("o")]),
        claim("a", [fact("b")], [quote("o2")]),
        observe("o2"),
    )
    ordinals = ordinals_of(core, SCOPE)
    for upto in range(5):
        sights = viewer(core, SCOPE, 5, upto).see(ordinals)
        assert described(sights) == one_by_one(core, SCOPE, 5, upto)


def test_a_fact_that_its_index_does_not_name_stops_the_read() -> None:
    core = core_told(observe("o"), claim("f", [quote("o")]))
    (key,) = (key for key, _ in core.store.scan(b"G"))
    core.store.write({key: None})
    with pytest.raises(StoreDamaged, match="a fact of the group"):
        viewer(core, SCOPE, 5, None).see(ordinals_of(core, SCOPE))


def test_a_record_that_a_document_names_and_that_is_gone_stops_the_read() -> None:
    for prefix in (b"I", b"F"):
        core = core_told(observe("o"), claim("f", [quote("o")]))
        ordinals = ordinals_of(core, SCOPE)
        (key,) = (key for key, _ in core.store.scan(prefix))
        core.store.write({key: None})
        with pytest.raises(StoreDamaged):
            viewer(core, SCOPE, 5, None).see(ordinals)


@pytest.mark.parametrize(
    ("glance", "row"),
    [
        (glances.ObservationGlance, rows.ObservationRow),
        (glances.FactGlance, rows.FactRow),
        (glances.WitnessGlance, Witness),
        (glances.AssertionGlance, Assertion),
        (glances.ContentGlance, Observation),
    ],
)
def test_a_glance_has_the_fields_of_its_row_in_the_rows_order(
    glance: type[msgspec.Struct], row: type[msgspec.Struct]
) -> None:
    names = glance.__struct_fields__
    assert row.__struct_fields__[: len(names)] == names
