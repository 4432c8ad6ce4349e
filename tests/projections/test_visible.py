"""The view in bulk says of each record what `view` says of it alone (I2, I3, I4; SPEC §8)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import msgspec
import pytest

from projections import glances, rows
from projections.checked import CheckedStore
from projections.kv_memory import MemoryStore
from projections.rows import Document
from projections.sights import Sight, stretch
from projections.state import StoreReader
from projections.view import Group, episode_visible
from projections.visible import Glances, Viewer
from projections.whole import Whole, look_at_whole
from schemas.bodies import Witness
from schemas.errors import StoreDamaged
from schemas.events import Assertion, Observation
from schemas.intervals import Bound
from schemas.scope import Scope
from schemas.values import json_value
from tests.core.harness import Core, scope_of
from tests.core.telling import SCOPE, core_told
from tests.model.histories import DAY, EPOCH, History, from_seed, interleaving, tangled
from tests.model.saying import claim, fact, forget, observe, quote, retract

SEEDS = range(81_000, 81_060)
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
                assert row.event is not None
                found.append((ordinal, "episode", row.event.content or "", None))
            continue
        asserted = reader.fact(scope16, record16)
        assert asserted is not None
        if horizon.blocked:
            continue
        event = asserted.event
        text = (
            "" if event is None else f"{event.entity} {event.attribute} {json_value(event.value)}"
        )
        group = Group(reader, scope16, asserted.entity_attribute, horizon, core.policy)
        public, conflict, _ = group.at(t)
        if record16 in {member.record for member in public}:
            found.append((ordinal, "fact", text, None))
        if record16 in {member.record for member in conflict}:
            one = group.conflict_at(t)
            assert one is not None
            found.append((ordinal, "conflict", text, (one.start, one.end)))
    return found


def viewer(core: Core, scope: Scope, t: int, upto: int | None) -> Viewer:
    reader, scope16 = core.follower.reader, core.hasher.scope(scope)
    horizon = core.horizon(scope, upto)
    return Viewer(reader, scope16, horizon, core.policy, t, Glances({}, {}, {}), {})


def whole(
    core: Core, scope: Scope, t: int, upto: int | None = None, kept: Whole | None = None
) -> Whole | None:
    """The scope looked at as a whole; None if it is blocked."""
    reader, scope16 = core.follower.reader, core.hasher.scope(scope)
    horizon, documents = core.horizon(scope, upto), len(ordinals_of(core, scope))
    if horizon.blocked:
        return None
    return look_at_whole(reader, scope16, horizon, core.policy, t, documents, kept)


def sights(looked: Whole | None) -> list[Seen]:
    return [] if looked is None else described(looked.sights())


def described(seen: list[Sight]) -> list[Seen]:
    return [(s.ordinal, s.candidate.kind, s.text, s.candidate.overlap) for s in seen]


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
                    said = f"seed {seed} {scope} {t} {upto}"
                    seen = viewer(core, scope, t, upto).see(ordinals)
                    assert described(seen) == expected, said
                    assert sights(whole(core, scope, t, upto)) == expected, said
    assert compared > 500


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
                seen = described(one.see(ordinals_of(core, scope)))
                since, until = stretch(one.standing.values())
                assert since is None or since <= t
                assert until is None or until > t
                ends = {since, None if until is None else until - 1} - {None}
                for end in ends:
                    assert end is not None
                    assert one_by_one(core, scope, end, None) == seen, f"seed {seed}"
                    stretches += 1
    assert stretches > 100


@pytest.mark.parametrize("make", [from_seed, tangled])
@pytest.mark.parametrize("wandering", [False, True])
def test_a_look_kept_up_to_date_is_a_fresh_one_at_every_step(
    make: Callable[[int, int], History], wandering: bool
) -> None:
    """One record after the other, at one instant, or at instants and prefixes in no order."""
    for seed in SEEDS if wandering else range(83_000, 83_080):
        history, rng = make(seed, 24), random.Random(seed)
        core = Core(history)
        kept: dict[Scope, Whole | None] = {}
        upto = None
        for record in interleaving(history.records, rng):
            core.consume([record])
            for scope in map(scope_of, history.scopes):
                t = EPOCH + 2 * DAY
                if wandering:
                    upto = rng.choice((None, None, None, len(core.steps) // 2))
                    t = rng.choice(instants(core, scope))
                fresh = whole(core, scope, t, upto)
                kept[scope] = whole(core, scope, t, upto, kept.get(scope))
                assert sights(kept[scope]) == sights(fresh), f"seed {seed} {scope} {t}"


def test_a_key_of_more_facts_than_are_read_is_left_out_and_that_is_known() -> None:
    core = core_told(
        observe("o"),
        *(claim(f"f{n}", [quote("o")], value=f"town {n}") for n in range(4)),
        claim("g", [quote("o")], entity="bob"),
    )
    reader, scope16 = core.follower.reader, core.hasher.scope(SCOPE)
    frame = (reader, scope16, core.horizon(SCOPE), core.policy, 5)
    for members, seen in ((5, [0, 1, 2, 3, 4, 5]), (4, [0, 5]), (0, [0])):
        one = Viewer(*frame, Glances({}, {}, {}), {}, members)
        found = one.see(ordinals_of(core, SCOPE)[::-1])
        assert sorted(sight.ordinal for sight in found) == seen
        assert one.complete == (members == 5)


CHANGES = {
    "a fact goes with its source": (
        [observe("o"), claim("f", [quote("o")])],
        forget({"observation": "o"}),
    ),
    "a retracted fact takes its source along": (
        [observe("o"), claim("f", [quote("o")])],
        retract("f"),
    ),
    "a fact goes with the source of the fact that it rests on": (
        [
            observe("o"),
            observe("p"),
            claim("b", [quote("o")], entity="bob"),
            claim("c", [fact("b"), quote("p")]),
        ],
        forget({"observation": "o"}),
    ),
    "a source comes back as the retracted fact's own grounds go": (
        [
            observe("o"),
            observe("p"),
            claim("b", [quote("p")], entity="bob"),
            claim("h", [fact("b"), quote("o")], [quote("z")]),
            retract("h"),
        ],
        forget({"observation": "p"}),
    ),
    "a source comes back as the retracted fact's other source goes": (
        [
            observe("o"),
            observe("p"),
            claim("h", [quote("p"), quote("o")], [quote("z")]),
            retract("h"),
        ],
        forget({"observation": "p"}),
    ),
    "a second value makes a conflict of a fact": (
        [observe("o"), claim("f", [quote("o")])],
        claim("g", [quote("o")], value="Bonn"),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_hangs_on_a_changed_record_is_judged_again(name: str) -> None:
    base, change = CHANGES[name]
    core = core_told(*base)
    kept = whole(core, SCOPE, 5)
    before = sights(kept)
    core.consume([{**change, "offset": 100, "append_ms": 10**15}])
    after = sights(whole(core, SCOPE, 5, None, kept))
    assert after == sights(whole(core, SCOPE, 5)) == one_by_one(core, SCOPE, 5, None)
    assert after != before
    assert sights(kept) == before


def test_grounds_that_came_later_do_not_show_a_fact_before() -> None:
    core = core_told(
        observe("o"),
        claim("b", [quote("o")]),
        claim("a", [fact("b")], [quote("o2")]),
        observe("o2"),
    )
    for upto in range(5):
        seen = viewer(core, SCOPE, 5, upto).see(ordinals_of(core, SCOPE))
        assert described(seen) == one_by_one(core, SCOPE, 5, upto)
        assert sights(whole(core, SCOPE, 5, upto)) == described(seen)


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


@pytest.mark.parametrize("prefix", [b"I", b"F"])
def test_an_altered_row_stops_the_read_whether_the_scope_was_looked_at_or_not(
    prefix: bytes,
) -> None:
    core = core_told(observe("o"), claim("f", [quote("o")]))
    inner = MemoryStore()
    CheckedStore(inner, b"k" * 32).write(dict(core.store.scan(b"")))
    reader = StoreReader(CheckedStore(inner, b"k" * 32))
    frame = (reader, core.hasher.scope(SCOPE), core.horizon(SCOPE), core.policy, 5, 2)
    kept = look_at_whole(*frame, None)
    assert sights(kept) == one_by_one(core, SCOPE, 5, None)
    assert sights(look_at_whole(*frame, kept)) == sights(kept)
    ((key, value),) = inner.scan(prefix)
    inner.write({key: value.replace(b"Berlin", b"Munich")})
    for known in (kept, None):
        with pytest.raises(StoreDamaged, match="was not written here"):
            look_at_whole(*frame, known)


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
