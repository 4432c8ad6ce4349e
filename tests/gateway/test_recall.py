"""Recall is what the rules say by hand, view kept or not (SPEC §5, §8; field failures 27, 32)."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace

from gateway.requests import RecallQuery
from gateway.serving import SIDES
from gateway.views import Views, look
from projections.postings import BLOCK
from projections.rows import Document, ObservationRow
from schemas.errors import StoreDamaged
from schemas.policy import Policy
from tests.core.harness import Core, scope_of
from tests.core.telling import SCOPE, core_told
from tests.gateway.asking_core import by_hand, framed, recalled, told
from tests.model.histories import History, from_seed, interleaving
from tests.model.saying import MAIN, claim, forget, observe, quote, retract
from tests.projections.test_visible import instants

SEEDS = range(82_000, 82_060)
QUERIES = ("Berlin", "alice city munich", "7 tags né à Zürich", "nothing of the kind", "?!")
MANY = RecallQuery("", limit=1_000)


def asking(query: str) -> RecallQuery:
    return replace(MANY, query=query)


def histories(count: int = 60) -> Iterator[tuple[int, History, list[dict[str, object]]]]:
    for seed in SEEDS[:count]:
        history = from_seed(seed, 24)
        yield seed, history, interleaving(history.records, random.Random(seed))


def test_recall_is_what_the_rules_say_by_hand() -> None:
    found = 0
    for seed, history, records in histories():
        core, rng = Core(history).consume(records), random.Random(seed)
        for scope in map(scope_of, history.scopes):
            for query in QUERIES:
                t = rng.choice(instants(core, scope))
                for upto in (None, rng.randrange(len(core.steps))):
                    expected = by_hand(core, scope, query, t, upto)
                    found += len(expected)
                    answer = recalled(core, scope, asking(query), t, upto)
                    assert told(answer) == expected, f"seed {seed} {scope} {query} {t} {upto}"
    assert found > 200


def test_a_kept_view_answers_as_a_fresh_one_whatever_happens_in_between() -> None:
    """Every step of a history, at instants in no order, now and in the past, under two policies."""
    for seed, history, records in histories(15):
        core, rng, views = Core(history), random.Random(seed), Views()
        folding = replace(core.policy, fold_values=True, quarantine_hides=False)
        for record in records:
            core.consume([record])
            for scope in map(scope_of, history.scopes):
                for _ in range(3):
                    core.policy = rng.choice((core.policy, folding, Policy()))
                    t, query = rng.choice(instants(core, scope)), rng.choice(QUERIES)
                    upto = rng.choice((None, None, rng.randrange(len(core.steps))))
                    fresh = recalled(core, scope, asking(query), t, upto)
                    kept = recalled(core, scope, asking(query), t, upto, views)
                    assert kept == fresh, f"seed {seed} {scope} {query} {t} {upto}"


@pytest.mark.parametrize(
    "removal",
    [
        retract("f"),
        forget({"fact": "f"}),
        forget({"observation": "o"}),
        forget({"subject": True}, by="root"),
        forget({"scope": True}, by="root"),
    ],
)
def test_what_is_taken_back_is_not_served_from_a_kept_view(removal: dict[str, object]) -> None:
    core, views = core_told(observe("o"), claim("f", [quote("o")])), Views()
    before = recalled(core, SCOPE, asking("Berlin"), 5, None, views)
    assert [result.id for result in before.results] == ["f", "o"]
    core.consume([{**removal, "offset": 0, "append_ms": 10**15}])
    after = recalled(core, SCOPE, asking("Berlin"), 5, None, views)
    assert after == recalled(core, SCOPE, asking("Berlin"), 5)
    assert "f" not in {result.id for result in after.results}


def test_a_view_is_kept_for_one_policy() -> None:
    core, views = core_told(observe("o"), claim("f", [quote("o", "not there")])), Views()
    assert recalled(core, SCOPE, asking("Berlin"), 5, None, views).results == ()
    core.policy = replace(core.policy, quarantine_hides=False)
    (found,) = recalled(core, SCOPE, asking("Berlin"), 5, None, views).results
    assert found.id == "o"


def test_a_kept_view_is_used_again_and_made_anew_when_an_instant_passes_a_border() -> None:
    core = core_told(observe("o"), claim("f", [quote("o")], valid_from=3, valid_to=7))
    reader, views = core.follower.reader, Views()
    first = views.view(reader, framed(core, SCOPE, 4))
    assert views.view(reader, framed(core, SCOPE, 6)) is first
    assert views.view(reader, framed(core, SCOPE, 7)) is not first
    assert views.view(reader, framed(core, SCOPE, 4)) is not first


def test_views_stay_within_their_bounds_and_are_let_go() -> None:
    scopes = [(*MAIN[:2], f"s{n}", "main") for n in range(20)]
    steps = [observe("o", "a text of some length " * 20, scope=scope) for scope in scopes]
    core = core_told(*steps)
    reader = core.follower.reader
    asked = [framed(core, scope_of(scope), 5) for scope in scopes]
    size = look(reader, asked[0]).size
    views = Views(capacity=5 * size)
    made = [views.view(reader, one) for one in asked]
    assert views.size <= 5 * size
    assert views.view(reader, asked[-1]) is made[-1]
    assert views.view(reader, asked[0]) is not made[0]
    views.forget(one.scope for one in asked)
    assert views.size == 0


def test_types_are_chosen_before_the_cut_and_change_no_score() -> None:
    core = core_told(
        observe("o"),
        *(observe(f"o{n}", "Berlin Berlin") for n in range(9)),
        claim("f", [quote("o")]),
        claim("g", [quote("o")], entity="bob"),
        claim("h", [quote("o")], entity="bob", value="Bonn"),
    )
    every = recalled(core, SCOPE, asking("Berlin"), 5)
    for kind in ("fact", "conflict", "episode"):
        some = recalled(core, SCOPE, replace(asking("Berlin"), types=(kind,), limit=2), 5)
        assert [r.id for r in some.results] == [r.id for r in every.results if r.type == kind][:2]


def test_a_conflict_of_very_many_sides_is_cut_and_says_so() -> None:
    values = [f"town {n:03}" for n in range(SIDES + 1)]
    core = core_told(
        observe("o"),
        *(claim(f"f{v}", [quote("o")], value=v) for v in values[:SIDES]),
    )
    (whole,) = recalled(core, SCOPE, replace(asking("town"), types=("conflict",)), 5).results
    assert whole.complete
    assert whole.type == "conflict"
    assert len(whole.conflict.sides) == SIDES
    core = core_told(observe("o"), *(claim(f"f{v}", [quote("o")], value=v) for v in values))
    (cut,) = recalled(core, SCOPE, replace(asking("town"), types=("conflict",)), 5).results
    assert not cut.complete
    assert cut.type == "conflict"
    assert [side.fact_id for side in cut.conflict.sides] == [f"f{v}" for v in values[:SIDES]]
    assert cut.id != whole.id


def large_scope() -> Core:
    """Three blocks' worth of documents: facts and corrections in the first, episodes behind."""
    steps = [observe("o", "Berlin Bonn needle")]
    steps += [claim("old", [quote("o")]), claim("rival", [quote("o")], value="Bonn")]
    steps += [observe("o2"), claim("wrong", [quote("o2")], entity="bob"), retract("wrong")]
    steps += [claim("lone", [quote("o")], entity="carol")]
    steps += [observe("hidden", "needle needle needle"), forget({"observation": "hidden"})]
    steps += [observe(f"n{n}", f"a note {n % 7} of Berlin") for n in range(2 * BLOCK + 900)]
    steps += [claim("new", [quote("o")], value="Munich")]
    return core_told(*steps)


def test_a_large_scope_is_searched_to_its_first_record() -> None:
    core = large_scope()
    for query in ("needle", "bob carol", "alice city", "Bonn alice"):
        expected = by_hand(core, SCOPE, query, 5, blocks=1)
        answer = recalled(core, SCOPE, replace(asking(query), limit=50), 5)
        assert answer.status == "complete"
        assert told(answer) == expected[:50], query
    alike = recalled(core, SCOPE, replace(asking("note 3"), limit=500), 5).results
    assert [result.text for result in alike[:400]] == ["a note 3 of Berlin"] * 400
    (conflict,) = recalled(core, SCOPE, replace(asking("Bonn"), types=("conflict",)), 5).results
    assert conflict.type == "conflict"
    assert [side.fact_id for side in conflict.conflict.sides] == ["new", "old", "rival"]


# Reads check what they serve


def altered(core: Core, prefix: bytes, change: bytes | None) -> None:
    for key, _ in list(core.store.scan(prefix)):
        core.store.write({key: change})


def test_a_document_that_was_made_to_name_another_record_stops_the_read() -> None:
    core, views = core_told(observe("o"), observe("p", "Berlin!")), Views()
    recalled(core, SCOPE, asking("Berlin"), 5, None, views)
    rows = list(core.store.scan(b"D"))
    swapped = [data for _, data in reversed(rows)]
    core.store.write({key: data for (key, _), data in zip(rows, swapped, strict=True)})
    for used in (views, Views()):
        with pytest.raises(StoreDamaged):
            recalled(core, SCOPE, asking("Berlin"), 5, None, used)


def test_a_record_that_no_longer_says_what_was_found_stops_the_read() -> None:
    core, views = core_told(observe("o"), claim("f", [quote("o")])), Views()
    recalled(core, SCOPE, asking("Berlin"), 5, None, views)
    ((key, data),) = core.store.scan(b"I")
    row = msgspec.msgpack.decode(data, type=ObservationRow)
    assert row.event is not None
    event = replace(row.event, content="I moved to Berlin in June.")
    core.store.write({key: msgspec.msgpack.encode(replace(row, event=event))})
    with pytest.raises(StoreDamaged):
        recalled(core, SCOPE, asking("moved"), 5, None, views)


@pytest.mark.parametrize("prefix", [b"D", b"I", b"F"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_row_that_is_gone_stops_the_read(prefix: bytes, kept: bool) -> None:
    core, views = core_told(observe("o"), claim("f", [quote("o")])), Views()
    if kept:
        recalled(core, SCOPE, asking("Berlin"), 5, None, views)
    altered(core, prefix, None)
    with pytest.raises(StoreDamaged):
        recalled(core, SCOPE, asking("Berlin"), 5, None, views)


def test_an_injected_record_stops_the_read() -> None:
    core = core_told(observe("o"))
    ((key, data),) = core.store.scan(b"I")
    core.store.write({key[:17] + b"x" * 16: data})
    with pytest.raises(StoreDamaged):
        recalled(core, SCOPE, asking("Berlin"), 5)
    ((key, data),) = core.store.scan(b"D")
    document = msgspec.msgpack.decode(data, type=Document)
    assert document.record != b"x" * 16
