"""The model against hand-computed examples of docs/semantics.md §6–§10: supersession to audit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model.reference import ANY, Model
from tests.model.rules import Record
from tests.model.saying import (
    MAIN,
    TRY,
    claim,
    each_order,
    fact,
    forget,
    observe,
    quote,
    retract,
    told,
)

O1 = observe("o1")
O2 = observe("o2", "Berlin, they say")
Q1 = [quote("o1")]
KEY = ("alice", "city")


def public(model: Model, t: int = 0, **options: Any) -> set[str]:
    return set(model.public_facts(MAIN, t, **options))


def sides(model: Model, t: int = 0) -> set[frozenset[str]]:
    return {conflict[2] for conflict in model.conflicts(MAIN, t)}


# §6 Supersession


@pytest.mark.parametrize(
    ("superseder", "left"),
    [
        (claim("f2", Q1, supersedes="f1", value="Munich"), {"f2"}),
        (claim("f2", Q1, supersedes="f1", entity="ALICE\u200b", attribute=" City "), {"f2"}),
        (claim("f2", Q1, supersedes="f1", by="root"), {"f2"}),
        (claim("f2", Q1, supersedes="f1", by="alice"), {"f1", "f2"}),
        (claim("f2", Q1, supersedes="f1", entity="bob"), {"f1", "f2"}),
        (claim("f2", Q1, supersedes="f1", attribute="town"), {"f1", "f2"}),
        (claim("f2", Q1, supersedes="f1", derivation="inferred"), {"f1"}),
        (claim("f2", [fact("f1")], supersedes="f1"), {"f1"}),
        (claim("f2", [quote("o1", "Paris")], supersedes="f1"), {"f1"}),
        (claim("f2", [quote("o9")], supersedes="f1"), {"f1"}),
        (claim("f2", Q1, supersedes="f2", value="Berlin"), {"f1", "f2"}),
        (claim("f2", Q1, supersedes="f1", scope=TRY), {"f1"}),
    ],
)
def test_which_edges_supersede(superseder: Record, left: set[str]) -> None:
    for first, second in ((claim("f1", Q1), superseder), (superseder, claim("f1", Q1))):
        for model in each_order(O1, first, second):
            assert public(model) == left


def test_supersession_is_not_transitive_and_a_chain_is_no_conflict() -> None:
    chain = (
        claim("f1", Q1, value="Berlin"),
        claim("f2", Q1, value="Munich", supersedes="f1", valid_to=10),
        claim("f3", Q1, value="Zürich", supersedes="f2", valid_from=5),
    )
    model = told(O1, *chain)
    assert [public(model, t) for t in (0, 4)] == [{"f2"}, {"f2"}]
    assert not model.conflicts(MAIN, 5)
    assert model.superseded_by(MAIN, "f1", 5) == {"f2"}
    assert public(model, 5) == {"f3"}
    assert sides(model, 10) == {frozenset({"f1", "f3"})}


def test_the_edges_of_a_cycle_are_all_invalid_and_one_into_it_is_not() -> None:
    cycle = claim("f1", Q1, supersedes="f2"), claim("f2", Q1, supersedes="f1")
    outside = claim("f3", Q1, supersedes="f1")
    assert public(told(O1, *cycle)) == {"f1", "f2"}
    assert public(told(O1, *cycle, outside)) == {"f2", "f3"}


def test_a_superseder_acts_only_where_it_holds_and_until_it_is_retracted() -> None:
    steps = O1, claim("f1", Q1), claim("f2", Q1, supersedes="f1", valid_from=5, valid_to=9)
    model = told(*steps)
    assert [public(model, t) for t in (4, 5, 8, 9)] == [{"f1"}, {"f2"}, {"f2"}, {"f1"}]
    assert public(told(*steps, retract("f2")), 5) == {"f1"}


def test_a_deleted_superseder_suppresses_at_every_time_until_it_is_retracted() -> None:
    old = claim("f1", Q1)
    new = claim("f2", [quote("o2")], supersedes="f1", valid_from=5)
    for gone in (forget({"fact": "f2"}), forget({"observation": "o2"})):
        for model in each_order(O1, O2, old, new, gone):
            assert [public(model, t) for t in (0, 5)] == [set(), set()]
            assert model.superseded_by(MAIN, "f1", 0) == {"deleted"}
        for model in each_order(O1, O2, old, new, gone, retract("f2")):
            assert public(model) == {"f1"}


def test_a_deleted_superseder_without_authority_suppresses_nothing() -> None:
    weak = claim("f2", Q1, supersedes="f1", by="web")
    assert public(told(O1, claim("f1", Q1), weak, forget({"fact": "f2"}, by="root"))) == {"f1"}
    unquoted = claim("f2", [fact("f1")], supersedes="f1")
    assert public(told(O1, claim("f1", Q1), unquoted, forget({"fact": "f2"}))) == {"f1"}


# §7 The public view


def test_valid_time_is_half_open_and_expiry_ends_it() -> None:
    model = told(O1, claim("f1", Q1, valid_from=2, valid_to=5, expires_at=4))
    assert [public(model, t) for t in (1, 2, 3, 4, 5)] == [set(), {"f1"}, {"f1"}, set(), set()]
    assert model.public_facts(MAIN, ANY) == {"f1"}
    assert model.public_facts(TRY, ANY) == set()


def test_a_candidate_is_never_public() -> None:
    assert not public(told(O1, claim("f1", Q1, by="web"), claim("f2", [fact("f1")])))


@pytest.mark.parametrize(
    ("one", "other", "disputed"),
    [
        ({"value": "Berlin"}, {"value": "Munich"}, True),
        ({"value": "Berlin"}, {"value": " berlin"}, False),
        ({"value": "2\u2075"}, {"value": "25"}, True),
        ({"value": "1.50", "type": "decimal"}, {"value": "1.5", "type": "decimal"}, False),
        ({"value": 7, "type": "integer"}, {"value": "7"}, True),
        ({"value": "Berlin"}, {"value": "Munich", "entity": "ALICE "}, True),
        ({"value": "Berlin"}, {"value": "Munich", "entity": "\u0430lice"}, False),
        ({"value": "Berlin"}, {"value": "Munich", "valid_from": 9}, False),
        ({"value": "Berlin"}, {"value": "Munich", "by": "web"}, False),
    ],
)
def test_two_standing_facts_with_unequal_values_conflict(
    one: dict[str, Any], other: dict[str, Any], disputed: bool
) -> None:
    for model in each_order(O1, claim("f1", Q1, **one), claim("f2", Q1, **other)):
        assert bool(model.conflicts(MAIN, 0)) == disputed
        assert ("f1" in public(model)) != disputed


def test_a_multi_valued_attribute_does_not_conflict() -> None:
    model = told(O1, claim("f1", Q1, attribute="Tags"), claim("f2", Q1, attribute="tags", value=""))
    assert public(model) == {"f1", "f2"}


def test_a_conflict_takes_all_standing_facts_of_its_key_and_says_how_long() -> None:
    model = told(
        O1,
        claim("f1", Q1, value="Berlin"),
        claim("f2", Q1, value="berlin", valid_from=2),
        claim("f3", Q1, value="Munich", valid_from=4, valid_to=8),
        claim("f4", Q1, attribute="town", valid_from=5),
    )
    both = {(*KEY, frozenset({"f1", "f2", "f3"}), (4, 8))}
    assert [model.conflicts(MAIN, t) for t in (3, 4, 6, 8)] == [set(), both, both, set()]
    assert model.conflicts(MAIN, ANY) == both
    assert [public(model, t) for t in (3, 6)] == [{"f1", "f2"}, {"f4"}]
    assert model.public_facts(MAIN, ANY) == {"f1", "f2", "f4"}


def test_a_conflict_may_have_no_end_and_come_twice() -> None:
    twice = told(O1, claim("f1", Q1), claim("f2", Q1, value="Munich"),
                 claim("f3", Q1, value="Zürich", supersedes="f2", valid_from=3, valid_to=6),
                 )  # fmt: skip
    assert model_overlaps(twice) == {
        (frozenset({"f1", "f2"}), (0, 3)),
        (frozenset({"f1", "f3"}), (3, 6)),
        (frozenset({"f1", "f2"}), (6, None)),
    }


def model_overlaps(model: Model) -> set[tuple[frozenset[str], tuple[int, int | None]]]:
    return {conflict[2:] for conflict in model.conflicts(MAIN, ANY)}


def test_a_corrected_fact_does_not_hold_down_a_second_source_of_the_correction() -> None:
    model = told(O1, claim("f1", Q1), claim("f2", Q1, value="Munich", supersedes="f1"),
                 claim("f3", Q1, value="Munich"))  # fmt: skip
    assert public(model) == {"f2", "f3"}


def test_recorded_time_picks_the_evidence_and_the_head_what_never_comes_back() -> None:
    model = told(O1, claim("f1", Q1), claim("f2", Q1, value="Munich"), O2, retract("f2"))
    assert [public(model, upto=n) for n in range(6)] == [set(), set(), *[{"f1"}] * 4]
    assert [model.audit_facts(MAIN, 0, n) for n in range(6)] == [
        set(), set(), {"f1"}, set(), set(), {"f1"}
    ]  # fmt: skip
    assert [model.episodes(MAIN, n) for n in (0, 1, 4)] == [set(), set(), {"o2"}]


def test_a_parked_fact_is_recorded_when_it_is_admitted() -> None:
    model = told(claim("f1", Q1), O2, O1)
    assert [public(model, upto=n) for n in (1, 2, 3)] == [set(), set(), {"f1"}]


def test_history_asks_for_the_witness_that_still_stands() -> None:
    model = told(O1, claim("f1", Q1, [quote("o2")]), O2, forget({"observation": "o1"}))
    assert [public(model, upto=n) for n in (1, 2, 3)] == [set(), set(), {"f1"}]
    assert model.audit_facts(MAIN, 0, 2) == {"f1"}


def test_history_shows_no_candidate_as_public_by_a_premise_that_came_later() -> None:
    mixed = claim("f2", [fact("f3")], [fact("f1"), quote("o1")])
    model = told(O1, claim("f3", Q1), mixed, claim("f1", Q1))
    assert [public(model, upto=n) for n in (3, 4)] == [{"f3"}, {"f1", "f2", "f3"}]


# §8 Episodes


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ([claim("f1", [quote("o1", "Paris")])], {"o2"}),
        ([claim("f1", [quote("o1", "Paris")], by="erp")], {"o1", "o2"}),
        ([claim("f1", [quote("o1", "Paris")]), forget({"fact": "f1"})], {"o1", "o2"}),
        ([claim("f1", [quote("o1", "e")])], {"o1", "o2"}),
        ([claim("f1", Q1, by="erp"), retract("f1", by="erp")], {"o2"}),
        ([claim("f1", Q1, by="web"), retract("f1")], {"o1", "o2"}),
        ([claim("f1", Q1, [quote("o2", "Paris")]), retract("f1")], {"o2"}),
        ([claim("f1", Q1, [quote("o2")]), retract("f1")], set()),
        ([claim("f1", Q1), retract("f1"), forget({"fact": "f1"})], {"o2"}),
        ([claim("f1", Q1), claim("f2", [quote("o2")]), retract("f2")], {"o1"}),
        ([forget({"observation": "o1"})], {"o2"}),
    ],
)
def test_which_observations_are_testimony(steps: list[Record], left: set[str]) -> None:
    for model in each_order(O1, O2, *steps):
        assert model.episodes(MAIN) == left


# §9 Release


def asked(*facts: str, **claimed: Any) -> Record:
    said = {"entity": "alice", "attribute": "city", "value": "Berlin", "type": "string", **claimed}
    return {**said, "facts": list(facts)}


@pytest.mark.parametrize(
    ("claimed", "reason"),
    [
        (asked("good"), None),
        (asked("good", entity=" ALICE", value="berlin "), None),
        (asked("good", "second"), None),
        (asked(), "unsupported"),
        (asked("good", "f404"), "unsupported"),
        (asked("parked"), "unsupported"),
        (asked("unclear"), "unsupported"),
        (asked("covered"), "deleted"),
        (asked("erased"), "deleted"),
        (asked("erased", "f404"), "unsupported"),
        (asked("withdrawn"), "retracted"),
        (asked("withdrawn", "erased"), "deleted"),
        (asked("good", value="Munich"), "mismatch"),
        (asked("good", value=7, type="integer"), "mismatch"),
        (asked("good", attribute="town"), "mismatch"),
        (asked("late"), "outside_valid_time"),
        (asked("expired"), "outside_valid_time"),
        (asked("weak"), "not_public"),
        (asked("bad"), "not_public"),
        (asked("old", entity="bob"), "superseded"),
        (asked("left", attribute="town"), "conflicting"),
    ],
    ids=str,
)
def test_release_names_the_first_reason(claimed: Record, reason: str | None) -> None:
    model = told(
        claim("covered", Q1, at=0),
        forget({"subject": True}, by="root", at=0),
        observe("o1", at=1),
        observe("o2", "Berlin? Berlin!", at=1, by="erp"),
        *(
            claim(name, *premises, at=2, **options)
            for name, premises, options in (
                ("good", [Q1], {}),
                ("second", [Q1], {}),
                ("parked", [[quote("o9")]], {}),
                ("unclear", [[quote("o2")]], {}),
                ("erased", [Q1], {}),
                ("withdrawn", [Q1], {}),
                ("late", [Q1], {"valid_from": 9}),
                ("expired", [Q1], {"expires_at": 4}),
                ("weak", [Q1], {"by": "web"}),
                ("bad", [[quote("o1", "Paris")]], {}),
                ("old", [Q1], {"entity": "bob"}),
                ("new", [Q1], {"entity": "bob", "supersedes": "old"}),
                ("left", [Q1], {"attribute": "town"}),
                ("right", [Q1], {"attribute": "town", "value": "Munich"}),
            )
        ),
        forget({"fact": "erased"}),
        retract("withdrawn"),
        retract("parked"),
    )
    expected = ("abstain" if reason else "release", [reason])
    assert model.release(MAIN, 5, [claimed]) == expected
    decision, reasons = model.release(MAIN, 5, [asked("good"), claimed])
    assert (decision, reasons) == ("abstain" if reason else "release", [None, reason])


def test_without_claims_release_abstains() -> None:
    assert told(O1).release(MAIN, 0, []) == ("abstain", [])


def test_a_historical_release_states_what_was_later_contradicted() -> None:
    model = told(O1, claim("f1", Q1), claim("f2", Q1, value="Munich"))
    assert model.release(MAIN, 0, [asked("f1")], 2) == ("release", [None])
    assert model.release(MAIN, 0, [asked("f1")]) == ("abstain", ["conflicting"])
    assert model.release(MAIN, 0, [asked("f1")], 1) == ("abstain", ["unsupported"])


# §10 Audit


def test_the_audit_view_derives_its_policy_from_the_prefix() -> None:
    barrier = forget({"subject": True}, by="root", at=99)
    model = told(O1, claim("f1", Q1), barrier)
    assert model.audit_facts(MAIN, 0, 2) == {"f1"}
    assert not model.audit_facts(MAIN, 0, 3)
    assert not public(model, upto=2)
