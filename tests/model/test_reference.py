"""The model against hand-computed examples of docs/semantics.md §1–§6: ids to supersession."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model import normaliser
from tests.model.reference import Model
from tests.model.rules import Record
from tests.model.saying import (
    BERLIN,
    MAIN,
    OTHER,
    TRY,
    claim,
    each_order,
    fact,
    forget,
    observe,
    placed,
    quote,
    retract,
    time_out,
    told,
)

O1 = observe("o1")
O2 = observe("o2", "Berlin, they say")
F1 = claim("f1", [quote("o1")])


def states(model: Model) -> list[str]:
    """The receipt states now, in the order of consumption."""
    return [model.receipt(n)[0] for n in range(1, len(model.records) + 1)]


def last(model: Model) -> tuple[str, str]:
    return model.receipt(len(model.records))


# §1 Who owns an id, a key


def test_an_unfit_event_owns_no_id_and_holds_no_key() -> None:
    unfit = claim("f1", [quote("o1")], by="guest", key="k", value="Paris")
    stranger = claim("f1", [quote("o1")], by="nobody", value="Paris")
    model = told(O1, unfit, stranger, claim("f1", [quote("o1")], by="crm", key="k"))
    assert [model.receipt(n)[1] for n in (2, 3)] == ["scope_not_granted", "unauthenticated"]
    assert last(model) == ("accepted", "")


def test_whole_subjects_are_deleted_by_operators_alone_and_controls_said_by_systems() -> None:
    assert last(told(O1, forget({"subject": True}, by="crm"))) == ("rejected", "role_required")
    assert last(told(O1, forget({"subject": True}, by="erp"))) == ("accepted", "")
    assert last(told(O1, time_out("f1", by="crm"))) == ("rejected", "role_required")


def test_a_repeated_key_is_a_duplicate_or_a_conflict() -> None:
    again = claim("f1", [quote("o1")], key="k", event_id="other id")
    other = claim("f2", [quote("o1")], key="k", value="Paris")
    model = told(O1, claim("f1", [quote("o1")], key="k"), again, other)
    assert states(model)[2:] == ["duplicate", "rejected"]
    assert last(model)[1] == "idempotency_conflict"
    assert model.status(MAIN, "f2") == "absent"


def test_what_a_receiver_filled_in_is_not_content() -> None:
    first = claim("f1", [quote("o1")], key="k", filled=("fact_id", "valid_from"))
    again = claim("f9", [quote("o1")], key="k", filled=("fact_id", "valid_from"), valid_from=7)
    assert last(told(O1, first, again)) == ("duplicate", "")
    assert last(told(O1, {**first, "filled": ()}, again)) == ("rejected", "idempotency_conflict")


def test_the_same_instant_written_otherwise_is_the_same_content() -> None:
    first = claim("f1", [quote("o1")], key="k", valid_from="2026-05-01T00:00:00Z")
    again = claim("f1", [quote("o1")], key="k", valid_from="2026-05-01T02:00:00+02:00")
    assert last(told(first, again)) == ("duplicate", "")


@pytest.mark.parametrize(
    "change", [{"by": "erp"}, {"scope": TRY}, {"key": "k2", "fact_id": "f2"}], ids=str
)
def test_keys_are_told_apart_by_adapter_scope_and_text(change: dict[str, Any]) -> None:
    other = {"key": "k", "fact_id": "f2", **change}
    model = told(O1, observe("o1", scope=TRY), claim("f1", [quote("o1")], key="k"),
                 claim("f1", [quote("o1")], **other))  # fmt: skip
    assert last(model) == ("accepted", "")


@pytest.mark.parametrize(
    ("first", "status"),
    [
        (claim("f1", [quote("o1", "Paris")], at=5), "quarantined"),
        (claim("f1", [quote("o9")], at=5), "parked"),
        (claim("f1", [quote("o1")], at=0), "covered"),
    ],
)
def test_the_first_of_its_topic_owns_the_id_whatever_becomes_of_it(
    first: Record, status: str
) -> None:
    barrier, late = forget({"subject": True}, by="root", at=0), claim("f1", [quote("o1")], at=20)
    for model in each_order(observe("o1", at=10), first, late, barrier):
        assert model.status(MAIN, "f1") == status
        assert model.receipt_state(placed((first, late))[1])[1] == ("rejected", "id_taken")


def test_ids_are_per_scope_and_per_type() -> None:
    model = told(observe("x"), observe("x", scope=TRY), observe("x", scope=OTHER),
                 claim("x", [quote("x")]), observe("x", key="another"))  # fmt: skip
    assert states(model) == ["accepted"] * 4 + ["rejected"]
    assert last(model)[1] == "id_taken"


# §2 Caps


@pytest.mark.parametrize(
    ("by", "derivation", "status"),
    [
        ("root", "direct", "accepted"),
        ("alice", "direct", "accepted"),
        ("web", "direct", "candidate"),
        ("crm", "derived", "accepted"),
        ("alice", "derived", "candidate"),
        ("root", "inferred", "candidate"),
    ],
)
def test_the_cap_comes_from_tier_and_derivation(by: str, derivation: str, status: str) -> None:
    for model in each_order(observe("o1", by="web"),
                            claim("f1", [quote("o1")], by=by, derivation=derivation)):  # fmt: skip
        assert model.status(MAIN, "f1") == status
        assert model.episodes(MAIN) == {"o1"}


# §3 Barriers


@pytest.mark.parametrize(
    ("at", "skew", "status"),
    [
        (9, 0, "covered"),
        (10, 0, "covered"),
        (11, 0, "accepted"),
        (12, 2, "covered"),
        (13, 2, "accepted"),
    ],
)
def test_a_barrier_covers_up_to_its_own_append_time_plus_skew(
    at: int, skew: int, status: str
) -> None:
    barrier = forget({"subject": True}, by="root", at=10, scope=TRY)
    for model in each_order(observe("o1", at=20), claim("f1", [quote("o1")], at=at), barrier,
                            skew_ms=skew):  # fmt: skip
        assert model.status(MAIN, "f1") == status


def test_a_barrier_leaves_other_subjects_alone() -> None:
    barrier = forget({"subject": True}, by="root", scope=OTHER)
    for model in each_order(O1, F1, barrier):
        assert model.public_facts(MAIN, 0) == {"f1"}


def test_a_covered_observation_takes_its_assertions_along() -> None:
    barrier = forget({"subject": True}, by="root", at=10)
    for model in each_order(observe("o1", at=5), claim("f1", [quote("o1")], at=20), barrier):
        assert model.status(MAIN, "f1") == "deleted"
        assert not model.episodes(MAIN)


def test_a_barrier_cancels_waiting_retractions_and_supersessions_but_no_deletions() -> None:
    barrier = forget({"subject": True}, by="root", at=10)
    steps = observe("o1", at=20), claim("f1", [quote("o1")], at=20)
    for model in each_order(*steps, retract("f1", at=5), barrier):
        assert model.public_facts(MAIN, 0) == {"f1"}
    old = claim("f2", [quote("o1")], at=5, supersedes="f1")
    for model in each_order(steps[0], old, steps[1], barrier):
        assert model.public_facts(MAIN, 0) == {"f1"}
    for model in each_order(*steps, forget({"fact": "f1"}, at=5), barrier):
        assert model.status(MAIN, "f1") == "deleted"


def test_nothing_of_a_deleted_scope_is_shown_before_or_after() -> None:
    end = forget({"scope": True}, by="root", at=10, scope=TRY)
    late = claim("f1", [quote("o1")], at=30)
    for model in each_order(observe("o1", at=0), end, late):
        assert model.status(MAIN, "f1") == "blocked"
        assert not model.episodes(MAIN)
        assert not model.public_facts(MAIN, 0)
        claims = [{**F1["event"], "facts": [name]} for name in ("f1", "f404")]
        assert model.release(MAIN, 0, claims) == ("abstain", ["deleted", "deleted"])
    assert last(told(O1, end, late)) == ("rejected", "scope_deleted")


# §4 Retraction and deletion


@pytest.mark.parametrize(
    ("by", "effective"), [("alice", True), ("crm", True), ("root", True), ("web", False)]
)
def test_a_fact_is_retracted_by_its_adapter_or_a_tier_not_below(by: str, effective: bool) -> None:
    for model in each_order(O1, claim("f1", [quote("o1")], by="alice"), retract("f1", by=by)):
        assert model.retracted(MAIN, "f1") == effective
        assert model.public_facts(MAIN, 0) == (set() if effective else {"f1"})


@pytest.mark.parametrize(
    ("by", "effective"), [("alice", True), ("erp", True), ("crm", False), ("web", False)]
)
def test_a_record_is_deleted_by_its_adapter_or_the_role_operator(by: str, effective: bool) -> None:
    steps = observe("o1", by="alice"), claim("f1", [quote("o1")], by="alice")
    for kind, name in (("observation", "o1"), ("fact", "f1")):
        for model in each_order(*steps, forget({kind: name}, by=by)):
            assert model.status(MAIN, "f1") == ("deleted" if effective else "accepted")
            assert ("o1" in model.episodes(MAIN)) == (kind == "fact" or not effective)


def test_what_comes_before_its_target_waits_and_is_judged_when_the_target_comes() -> None:
    model = told(retract("f1"), forget({"fact": "f1"}, by="web"), O1, F1)
    assert model.receipt(1, 1) == model.receipt(2, 2) == ("parked", "awaiting_target")
    assert model.receipt(1) == ("accepted", "")
    assert model.receipt(2) == ("rejected", "not_authorised")
    assert model.receipt_state(model.records[0]) == (("parked", "awaiting_target"),
                                                     ("accepted", ""))  # fmt: skip


# §5 Premises, justifications, status


@pytest.mark.parametrize(
    ("content", "premise", "status"),
    [
        (BERLIN, quote("o1", "Berlin"), "accepted"),
        (BERLIN, quote("o1", "Berlin", 11), "accepted"),
        (BERLIN, quote("o1", "Berlin", 12), "quarantined"),
        (BERLIN, quote("o1", "berlin"), "quarantined"),
        (BERLIN, quote("o1", ""), "quarantined"),
        (BERLIN, quote("o1", "", 3), "quarantined"),
        ("Zürich, Zürich", quote("o1", "Zürich"), "rejected"),
        ("Zürich, Zürich", quote("o1", "Zürich", 9), "accepted"),
        ("Zürich, Zürich", quote("o1", "Zürich", 8), "quarantined"),
        ("aaa", quote("o1", "aa"), "rejected"),
        ("aa", quote("o1", "aa"), "accepted"),
        ("Berlin", {**quote("o1", "Berlin", 0), "end": 99}, "quarantined"),
        (None, quote("o1", "Berlin"), "candidate"),
    ],
)
def test_a_quote_must_stand_at_its_span_or_exactly_once(
    content: str | None, premise: Record, status: str
) -> None:
    for model in each_order(observe("o1", content), claim("f1", [premise])):
        assert model.status(MAIN, "f1") == status


@pytest.mark.parametrize(
    ("justifications", "status"),
    [
        ([[quote("o1")], [quote("o9")]], "accepted"),
        ([[quote("o1"), quote("o9")]], "parked"),
        ([[quote("o1", "Paris")], [quote("o9")]], "parked"),
        ([[quote("o1", "Paris"), quote("o9")]], "quarantined"),
        ([[quote("twice"), quote("o9")]], "parked"),
        ([[quote("twice")], [quote("o1", "Paris")]], "quarantined"),
        ([[quote("twice")], [quote("o1")]], "accepted"),
        ([[quote("gone")]], "deleted"),
        ([[quote("gone")], [quote("o1", "Paris")]], "deleted"),
        ([[quote("gone")], [quote("o1")]], "accepted"),
        ([[quote("gone")], [quote("o9")]], "parked"),
        ([[quote("ref"), quote("o1")]], "candidate"),
        ([[quote("ref")], [quote("o1")]], "accepted"),
        ([[fact("good")]], "candidate"),
        ([[fact("good"), quote("o1")]], "accepted"),
        ([[fact("weak"), quote("o1")]], "accepted"),
        ([[fact("withdrawn"), quote("o1")]], "accepted"),
        ([[fact("bad"), quote("o1")]], "quarantined"),
        ([[fact("unclear"), quote("o1")]], "quarantined"),
        ([[fact("erased"), quote("o1")]], "deleted"),
        ([[fact("orphan"), quote("o1")]], "deleted"),
        ([[fact("waiting"), quote("o1")]], "parked"),
        ([[fact("f1"), quote("o1")]], "parked"),
    ],
)
def test_the_status_of_an_assertion(justifications: list[list[Record]], status: str) -> None:
    steps = [
        O1,
        observe("twice", "Berlin, Berlin"),
        observe("ref", None),
        observe("gone"),
        claim("good", [quote("o1")]),
        claim("weak", [quote("o1")], by="web"),
        claim("withdrawn", [quote("o1")]),
        claim("bad", [quote("o1", "Paris")]),
        claim("unclear", [quote("twice")]),
        claim("erased", [quote("o1")]),
        claim("orphan", [quote("gone")]),
        claim("waiting", [quote("o9")]),
        forget({"observation": "gone"}),
        forget({"fact": "erased"}),
        retract("withdrawn"),
    ]
    asked = claim("f1", *justifications)
    for model in (told(*steps, asked), told(asked, *steps), told(*steps[::-1], asked)):
        assert model.status(MAIN, "f1") == status


def test_a_chain_of_facts_and_a_cycle_of_facts() -> None:
    chain = claim("f2", [fact("f1")]), claim("f3", [fact("f2"), quote("o1")])
    for model in each_order(O1, *chain, F1):
        assert [model.status(MAIN, f) for f in ("f1", "f2", "f3")] == [
            "accepted", "candidate", "accepted"
        ]  # fmt: skip
    cycle = claim("f1", [fact("f2")]), claim("f2", [fact("f1"), quote("o1")])
    for model in each_order(O1, *cycle):
        assert [model.status(MAIN, f) for f in ("f1", "f2")] == ["parked", "parked"]


def test_a_deletion_leaves_no_cycle_in_force_by_itself() -> None:
    """Judging anew from the last statuses would keep f1 and f2 in force by each other."""
    circle = claim("f1", [quote("o1")], [fact("f2")]), claim("f2", [fact("f1")])
    dependent = claim("f3", [fact("f2"), quote("o2")])
    for model in each_order(O1, O2, *circle, dependent, forget({"observation": "o1"})):
        assert {model.status(MAIN, f) for f in ("f1", "f2", "f3")} == {"parked"}
        assert not model.public_facts(MAIN, 0)


def test_one_in_force_falls_back_to_parked_where_another_justification_still_waits() -> None:
    both = claim("f1", [quote("o1")], [quote("o2")])
    for model in each_order(O1, both, forget({"observation": "o1"})):
        assert model.status(MAIN, "f1") == "parked"
    for model in each_order(O1, both, forget({"observation": "o1"}), O2):
        assert model.public_facts(MAIN, 0) == {"f1"}


def test_a_time_out_changes_only_the_receipt_of_a_parked_assertion() -> None:
    assert told(F1, time_out("f1")).receipt(1) == ("quarantined", "timed_out")
    assert told(F1, time_out("f1"), O1).receipt(1) == ("accepted", "")
    assert told(time_out("f1"), F1).receipt(2) == ("parked", "awaiting_premises")
    assert told(F1, time_out("f1", by="crm")).receipt(1)[0] == "parked"
    for model in each_order(F1, time_out("f1"), O1):
        assert model.public_facts(MAIN, 0) == {"f1"}
        assert model.episodes(MAIN) == {"o1"}


# The normaliser


@pytest.mark.parametrize(
    ("one", "other"),
    [("Alice", " ALICE "), ("C\u200b++", "c++"), ("\ufb01n", "FIN"), ("stra\u00dfe", "STRASSE")],
)
def test_keys_that_are_the_same(one: str, other: str) -> None:
    assert normaliser.key(one) == normaliser.key(other)


def test_lookalikes_are_not_merged() -> None:
    assert normaliser.key("alice") != normaliser.key("\u0430lice")


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (("Berlin", "string"), (" berlin", "string"), True),
        (("Z\u00fcrich", "string"), ("Zu\u0308rich", "string"), True),
        (("2\u2075", "string"), ("25", "string"), False),
        (("1.50", "decimal"), ("1.5", "decimal"), True),
        (("-0.0", "decimal"), ("0", "decimal"), True),
        (("7", "string"), (7, "integer"), False),
        ((1, "integer"), (True, "boolean"), False),
        (("7", "decimal"), (7, "integer"), False),
        (("2026-05-01T00:00:00Z", "instant"), ("2026-05-01T02:00:00+02:00", "instant"), True),
    ],
)
def test_when_values_are_equal(one: Any, other: Any, equal: bool) -> None:
    assert (normaliser.value(*one) == normaliser.value(*other)) == equal
