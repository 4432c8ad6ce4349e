"""Group 2, contradiction, supersession and names (SPEC §5: the public view, I3, the normaliser).

Facts compete only in one single-valued key of one scope. What was corrected leaves the present and
stays in history; what nobody corrected stands as a conflict. One normaliser says what is one key
and what is one value, and what is returned is what was given.
"""

from __future__ import annotations

import pytest

from mnemolog.memory import ScopedMemory
from tests.field.conftest import Runtime
from tests.field.saying import contested, facts_found, found, stated, texts, values
from tests.runtime.conftest import Runtime as FreshRuntime


def test_a_fact_that_mentions_an_entity_retires_nothing_about_it(runtime: Runtime) -> None:
    """Case 15."""
    rig = runtime.scope()
    stated(rig, "rig-2", "operated_by", "crew-9")
    stated(rig, "crew-9", "inspected", "tank-4")
    stated(rig, "rig-3", "operated_by", "crew-8")
    assert sorted(values(rig)) == ["crew-8", "crew-9", "tank-4"]
    assert contested(rig) == []


@pytest.mark.policy('multi_valued = ["tested_with"]\n')
def test_values_of_a_relation_that_has_many_stand_beside_each_other(fresh: FreshRuntime) -> None:
    """Case 15: the policy says which have many; `tag` and its like do of themselves."""
    bench = fresh.scope()
    for value in ("m3", "m7", "m3"):
        stated(bench, "bench-1", "Tested_With", value)
        stated(bench, "bench-1", "tag", value)
    assert sorted(values(bench)) == ["m3"] * 4 + ["m7"] * 2
    assert contested(bench) == []
    assert sorted(facts_found(bench, "bench-1 m7")[:2]) == ["m7", "m7"]


def test_a_relation_that_nobody_registered_retires_neither_of_two_values(runtime: Runtime) -> None:
    """Case 15: it has one value at a time, so both stand in the open, as a conflict."""
    bench = runtime.scope()
    stated(bench, "bench-1", "tested_with", "m3")
    stated(bench, "bench-1", "tested_with", "m7")
    assert contested(bench) == [["m3", "m7"]]
    assert [f.value for f in bench.history("bench-1", "tested_with").items] == ["m3", "m7"]


def test_a_contradiction_leaves_neither_value_without_a_trace(runtime: Runtime) -> None:
    """Case 17."""
    hull = runtime.scope("hull-5")
    sand = stated(hull, "hull-5", "ballast", "sand")
    assert values(hull) == ["sand"]
    water = stated(hull, "hull-5", "ballast", "water")
    assert (values(hull), contested(hull)) == ([], [["sand", "water"]])
    hull.retract(sand.fact_id)
    assert (values(hull), contested(hull)) == (["water"], [])
    assert hull.release([("hull-5", "ballast", "water", [water.fact_id])]).decision == "release"


def test_a_correction_is_the_present_and_the_corrected_is_history(runtime: Runtime) -> None:
    """Case 17."""
    hull = runtime.scope("hull-5")
    sand = stated(hull, "hull-5", "ballast", "sand")
    stated(hull, "hull-5", "ballast", "water", supersedes=sand.fact_id)
    assert values(hull) == ["water"]
    assert [(f.value, f.status) for f in hull.history("hull-5", "ballast").items] == [
        ("sand", "superseded"),
        ("water", "active"),
    ]


def _by_every_route(buoy: ScopedMemory, **asked: str) -> list[list[str]]:
    """What is said of the buoy's colour as a plain answer, by each way of asking."""
    return [
        values(buoy, **asked),
        values(buoy, entity="buoy-1", attribute="colour", **asked),
        facts_found(buoy, "red blue", types=["fact"], **asked),
        facts_found(buoy, "buoy-1 colour", **asked),
    ]


def test_every_route_gives_the_corrected_value_and_the_old_one_only_as_of_then(
    runtime: Runtime,
) -> None:
    """Case 18."""
    buoy = runtime.scope()
    red = stated(buoy, "buoy-1", "colour", "red", valid_from="2025-01-01T00:00:00Z")
    new = {"valid_from": "2025-06-01T00:00:00Z", "supersedes": red.fact_id}
    blue = stated(buoy, "buoy-1", "colour", "blue", **new)
    assert red.entry is not None
    now, then = "2025-07-01T00:00:00Z", "2025-03-01T00:00:00Z"
    assert _by_every_route(buoy) == [["blue"]] * 4
    assert _by_every_route(buoy, valid_at=now) == [["blue"]] * 4
    assert _by_every_route(buoy, valid_at=then) == [["red"]] * 4
    assert _by_every_route(buoy, valid_at=now, recorded_at=red.entry.recorded_at) == [["red"]] * 4
    for value, fact, reason in (("blue", blue, None), ("red", red, "superseded")):
        claim = buoy.release([("buoy-1", "colour", value, [fact.fact_id])], valid_at=now).claims[0]
        assert claim.reason == reason


def test_two_sources_without_precedence_are_one_conflict_on_every_route(runtime: Runtime) -> None:
    """Cases 18 and 105: lives in Paris, lives in Rome."""
    alice = runtime.scope()
    facts = {city: stated(alice, "alice", "lives in", city) for city in ("Paris", "Rome")}
    assert values(alice) == []
    assert contested(alice) == [["Paris", "Rome"]]
    for query in ("Paris", "Rome", "where does alice live? lives in"):
        kinds = [hit.type for hit in found(alice, query, types=["fact", "conflict"])]
        assert kinds == ["conflict"]
    assert not any(hit.releasable for hit in found(alice, "alice Paris Rome"))
    for city, fact in facts.items():
        answer = alice.release([("alice", "lives in", city, [fact.fact_id])])
        assert (answer.decision, answer.claims[0].reason) == ("abstain", "conflicting")
    resolved = stated(alice, "alice", "lives in", "Rome", supersedes=facts["Paris"].fact_id)
    assert (values(alice), contested(alice)) == (["Rome", "Rome"], [])
    claim = ("alice", "lives in", "Rome", [resolved.fact_id, facts["Rome"].fact_id])
    assert alice.release([claim]).decision == "release"


def test_all_spellings_of_a_name_are_one_key_and_each_is_returned_as_it_was_given(
    runtime: Runtime,
) -> None:
    """Case 19."""
    crane = runtime.scope()
    spellings = ["CraneCtl", "cranectl", " CraneCtl ", "CRANECTL\u200b"]
    facts = [stated(crane, name, "state", "up") for name in spellings]
    for asked in spellings:
        assert [fact.entity for fact in crane.facts(entity=asked).items] == spellings
        assert [fact.entity for fact in crane.history(asked, " State").items] == spellings
        claim = crane.release([(asked, "STATE", "up", [fact.fact_id for fact in facts])])
        assert claim.decision == "release"
    stated(crane, "craneCTL", "state", "down")
    (conflict,) = crane.conflicts(entity="CRANECTL").items
    assert sorted(side.value for side in conflict.sides) == ["down", "up", "up", "up", "up"]
    for fact in facts:
        crane.forget(fact=fact.fact_id)
    assert [(f.entity, f.value) for f in crane.facts(entity="cranectl").items] == [
        ("craneCTL", "down")
    ]
    assert crane.release([("cranectl", "state", "up", [facts[0].fact_id])]).decision == "abstain"


@pytest.mark.parametrize(
    ("stored", "asked"),
    [("e\u0301tage-2", "\u00e9tage-2"), ("\u1100\u1161", "\uac00")],
    ids=["latin", "hangul"],
)
def test_composed_and_decomposed_text_match_both_ways(
    runtime: Runtime, stored: str, asked: str
) -> None:
    """Case 20."""
    assert stored != asked
    for number, (kept, query) in enumerate(((stored, asked), (asked, stored))):
        house = runtime.scope(f"house-{number}")
        fact = stated(house, kept, "lamp", kept)
        (shown,) = house.facts(entity=query).items
        assert (shown.entity, shown.value, shown.evidence[0].quote) == (kept, kept, kept)
        assert facts_found(house, query) == [kept]
        assert texts(house, query) == [f"{kept} / lamp / {kept}"]
        assert house.release([(query, "lamp", query, [fact.fact_id])]).decision == "release"


@pytest.mark.parametrize(("one", "other"), [("2\u2075 mm", "25 mm"), ("\u2460", "1")])
def test_values_that_only_compatibility_folding_would_merge_are_two_values(
    runtime: Runtime, one: str, other: str
) -> None:
    """Case 22."""
    gauge = runtime.scope()
    facts = {value: stated(gauge, "gauge", "reads", value) for value in (one, other)}
    assert contested(gauge) == [sorted([one, other])]
    assert [f.value for f in gauge.history("gauge", "reads").items] == [one, other]
    gauge.retract(facts[other].fact_id)
    assert values(gauge) == [one]
    claim = gauge.release([("gauge", "reads", other, [facts[one].fact_id])])
    assert claim.claims[0].reason == "mismatch"


def test_what_shows_nothing_splits_no_key_and_is_kept_in_what_is_returned(runtime: Runtime) -> None:
    """Case 22: a zero-width blank in a key counts for nothing, in a value it is kept."""
    code = runtime.scope()
    for key in ("C\u200b++", "c++", "C++"):
        stated(code, key, "level", "hi\u200bgh")
    assert [fact.entity for fact in code.facts(entity="C++").items] == ["C\u200b++", "c++", "C++"]
    assert values(code) == ["hi\u200bgh"] * 3
    stated(code, "C", "level", "low")
    assert contested(code) == []
    nearest = texts(code, "c++", limit=3, types=["episode"])
    assert len(nearest) == 3
    assert "C / level / low" not in nearest
