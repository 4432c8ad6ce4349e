"""The JSON door: strict, authority-free, and inverse to rendering (INTERFACE "Events", SPEC §4)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError

from schemas.errors import InvalidEvent
from schemas.events import Actor, Assertion, Control, Deletion, Note, Observation, WorkingSet
from schemas.faults import refusal
from schemas.kinds import Kind
from schemas.rendering import event_json
from schemas.times import format_instant
from tests.schemas.samples import (
    NOW,
    PREMISE,
    SCOPE,
    assertion,
    fault_of,
    observation,
    parse,
    premises,
    refused,
    without,
)

CONTROL = {
    "kind": "control",
    "scope": SCOPE,
    "control": "timeout",
    "target": {"fact": "f1"},
}
DELETION = {"kind": "deletion", "scope": SCOPE, "target": {"subject": True}}
NOTE = {"kind": "outcome", "scope": SCOPE, "record_id": "r1", "payload": {"b": 1, "a": [None]}}


def fault(raw: object) -> tuple[str, str]:
    return refused(raw)


def test_an_observation_with_every_default() -> None:
    kind, event = parse(without(observation(), "event_id", "occurred_at"))
    assert kind is Kind.OBSERVATION
    assert isinstance(event, Observation)
    assert (event.media_type, event.sensitivity, event.salience) == ("text/plain", "normal", 0.5)
    envelope = event.envelope
    assert (envelope.event_id, envelope.idempotency_key) == ("new-1", "new-1")
    assert envelope.scope.branch == "main"
    assert envelope.actor == Actor("crm", "system")
    assert envelope.purpose == "unspecified"
    assert envelope.occurred_at == NOW
    assert envelope.filled == ("event_id", "idempotency_key", "occurred_at")


def test_an_assertion_with_every_default() -> None:
    _, event = parse(without(assertion(), "event_id", "fact_id", "occurred_at"))
    assert isinstance(event, Assertion)
    assert (event.envelope.event_id, event.fact_id) == ("new-1", "new-2")
    assert (event.valid_from, event.valid_to, event.expires_at) == (NOW, None, None)
    assert event.confidence == 1.0
    assert event.derivation.kind == "direct"
    assert event.supersedes is None
    assert event.envelope.filled == (
        "event_id",
        "idempotency_key",
        "occurred_at",
        "fact_id",
        "valid_from",
    )


def test_what_the_caller_said_is_never_called_filled() -> None:
    _, event = parse(assertion())
    assert isinstance(event, Assertion)
    assert event.envelope.idempotency_key == "e2"
    assert event.valid_from == event.envelope.occurred_at
    assert event.envelope.filled == ()
    _, event = parse(without(assertion(idempotency_key="k"), "event_id"))
    assert event.envelope.filled == ("event_id",)


@pytest.mark.parametrize(
    "name",
    [
        "adapter",
        "authority",
        "tier",
        "trust",
        "source",
        "verified",
        "schema_version",
        "filled",
        "x",
    ],
)
def test_no_field_claims_authority_or_is_ignored(name: str) -> None:
    for raw in (observation(), assertion(), DELETION, CONTROL, NOTE):
        assert fault(raw | {name: "verified"}) == ("unknown_field", name)


def test_a_claim_of_authority_is_told_where_authority_comes_from() -> None:
    remedy = fault_of(lambda: parse(observation(authority="verified"))).remedy
    assert "authenticated caller" in remedy
    remedy = fault_of(lambda: parse(observation(contents="x"))).remedy
    assert "content" in remedy


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (observation(scope=SCOPE | {"region": "eu"}), "scope.region"),
        (observation(actor={"id": "a", "role": "user", "tier": "operator"}), "actor.tier"),
        (premises(PREMISE | {"hash": "00"}), "justifications[0].premises[0].hash"),
        (DELETION | {"target": {"tenant": True}}, "target.tenant"),
        (observation(fact_id="f1"), "fact_id"),
    ],
)
def test_unknown_fields_are_refused_by_name_at_every_depth(raw: object, field: str) -> None:
    assert fault(raw) == ("unknown_field", field)


@pytest.mark.parametrize("component", ["tenant", "namespace", "subject"])
@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "wrong_type"),
        ("", "empty"),
        ("*", "wildcard"),
        ([None], "wrong_type"),
        (["acme", None], "wrong_type"),
        (7, "wrong_type"),
        (True, "wrong_type"),
    ],
)
def test_a_scope_never_widens(component: str, value: object, code: str) -> None:
    assert fault(observation(scope=SCOPE | {component: value})) == (code, f"scope.{component}")
    absent = observation(scope=without(SCOPE, component))
    assert fault(absent) == ("missing_field", f"scope.{component}")


@pytest.mark.parametrize("number", [7, 7.0, 9007199254740993, True])
def test_a_number_is_never_an_id(number: object) -> None:
    for name in ("event_id", "idempotency_key"):
        assert fault(observation(**{name: number})) == ("wrong_type", name)
    assert fault(assertion(fact_id=number)) == ("wrong_type", "fact_id")


def test_spellings_of_a_number_are_different_ids() -> None:
    spellings = ["7", "007", "7e0", "9007199254740993", "a"]
    parsed = [parse(observation(event_id=text))[1].envelope.event_id for text in spellings]
    assert parsed == spellings


@pytest.mark.parametrize(
    ("raw", "code", "field"),
    [
        (None, "wrong_type", ""),
        ([observation()], "wrong_type", ""),
        ("{}", "wrong_type", ""),
        ({}, "missing_field", "kind"),
        (observation(kind=None), "missing_field", "kind"),
        (observation(kind=1), "wrong_type", "kind"),
        (observation(kind="Observation"), "unknown_symbol", "kind"),
        (without(observation(), "scope"), "missing_field", "scope"),
        (without(observation(), "content"), "missing_field", "content"),
        (observation(content=None), "wrong_type", "content"),
        (observation(content=7), "wrong_type", "content"),
        (observation(event_id=None), "wrong_type", "event_id"),
        (observation(event_id=""), "empty", "event_id"),
        (observation(sensitivity=None), "wrong_type", "sensitivity"),
        (observation(sensitivity="SECRET"), "unknown_symbol", "sensitivity"),
        (observation(salience="0.5"), "wrong_type", "salience"),
        (observation(salience=True), "wrong_type", "salience"),
        (observation(salience=float("nan")), "out_of_range", "salience"),
        (observation(salience=10**400), "wrong_type", "salience"),
        (observation(salience=2), "out_of_range", "salience"),
        (observation(actor={"id": "a"}), "missing_field", "actor.role"),
        (observation(actor={"id": "a", "role": "root"}), "unknown_symbol", "actor.role"),
        (observation(actor="alice"), "wrong_type", "actor"),
        (observation(occurred_at="2026-05-01T09:00:00"), "zoneless_time", "occurred_at"),
        (observation(occurred_at=1_777_000_000), "wrong_type", "occurred_at"),
        (observation(occurred_at=None), "wrong_type", "occurred_at"),
        (without(assertion(), "value"), "missing_field", "value"),
        (assertion(value=None), "null_value", "value"),
        (assertion(value=7), "wrong_type", "value"),
        (assertion(value=7, type="float"), "unknown_symbol", "type"),
        (assertion(value=7, type=None), "wrong_type", "type"),
        (assertion(valid_from="1998"), "imprecise_time", "valid_from"),
        (assertion(valid_from=None), "wrong_type", "valid_from"),
        (assertion(confidence="high"), "wrong_type", "confidence"),
        (assertion(derivation={"kind": "sure"}), "unknown_symbol", "derivation.kind"),
        (assertion(derivation={}), "missing_field", "derivation.kind"),
        (without(assertion(), "justifications"), "missing_field", "justifications"),
        (assertion(justifications=[]), "empty", "justifications"),
        (assertion(justifications={}), "wrong_type", "justifications"),
        (premises(), "empty", "justifications[0].premises"),
        (premises(*[PREMISE] * 65), "too_many", "justifications[0].premises"),
        (premises(PREMISE | {"start": 2.0}), "wrong_type", "justifications[0].premises[0].start"),
        (premises(PREMISE | {"end": True}), "wrong_type", "justifications[0].premises[0].end"),
        (premises(PREMISE | {"end": 2**63}), "out_of_range", "justifications[0].premises[0].end"),
        (premises(PREMISE | {"quote": ""}), "empty", "justifications[0].premises[0].quote"),
        (DELETION | {"target": {}}, "missing_field", "target"),
        (DELETION | {"target": {"subject": False}}, "wrong_type", "target.subject"),
        (DELETION | {"target": {"subject": 1}}, "wrong_type", "target.subject"),
        (DELETION | {"target": {"observation": True}}, "wrong_type", "target.observation"),
        (DELETION | {"target": {"fact": "f", "scope": True}}, "conflicting_fields", "target"),
        (DELETION | {"target": "subject"}, "wrong_type", "target"),
        (CONTROL | {"control": "obey"}, "unknown_symbol", "control"),
        (CONTROL | {"target": {"observation": "e1"}}, "unknown_field", "target.observation"),
        (CONTROL | {"target": {}}, "missing_field", "target"),
        (NOTE | {"payload": []}, "wrong_type", "payload"),
        (NOTE | {"payload": {"a": {1: 2}}}, "wrong_type", "payload.a"),
        (NOTE | {"payload": {"a": float("inf")}}, "out_of_range", "payload.a"),
        (NOTE | {"payload": {"a": 2**63}}, "out_of_range", "payload.a"),
        (NOTE | {"payload": {"a": "\ud83d"}}, "lone_surrogate", "payload.a"),
        (NOTE | {"payload": {"a": {1, 2}}}, "wrong_type", "payload.a"),
        (without(NOTE, "record_id"), "missing_field", "record_id"),
    ],
)
def test_bad_input_is_refused_with_code_and_field(raw: object, code: str, field: str) -> None:
    assert fault(raw) == (code, field)


def test_null_is_taken_where_the_interface_has_it() -> None:
    _, event = parse(assertion(valid_to=None, supersedes=None, expires_at=None))
    assert isinstance(event, Assertion)
    assert (event.valid_to, event.supersedes, event.expires_at) == (None, None, None)


def test_a_bare_number_is_told_its_type() -> None:
    assert fault_of(lambda: parse(assertion(value=7))).remedy == '"type": "integer"'
    _, event = parse(assertion(value=7, type="integer"))
    assert isinstance(event, Assertion)
    assert (event.value.type, event.value.text) == ("integer", "7")


@pytest.mark.parametrize(
    ("changes", "code", "named"),
    [
        (
            {"valid_from": "2031-01-01T00:00:00Z", "valid_to": "2030-01-01T00:00:00Z"},
            "reversed_interval",
            ["2031-01-01", "2030-01-01"],
        ),
        (
            {"valid_from": "2031-01-01T00:00:00Z", "valid_to": "2031-01-01T01:00:00+01:00"},
            "empty_interval",
            ["2031-01-01", "empty"],
        ),
        (
            {"valid_to": "2011-01-01T00:00:00Z"},
            "reversed_interval",
            ["2026-06-01", "filled in", "2011-01-01"],
        ),
    ],
)
def test_an_end_not_after_its_start_is_refused_also_after_a_defaulted_start(
    changes: dict[str, Any], code: str, named: list[str]
) -> None:
    raw = without(assertion(), "occurred_at") | changes
    refusal = fault_of(lambda: parse(raw))
    assert (refusal.code, refusal.field) == (code, "valid_to")
    for words in ("valid_from", "valid_to", *named):
        assert words in refusal.detail


def test_zones_are_instants_once_parsed() -> None:
    for text in ("2025-03-02T09:00:00+02:00", "2025-03-02T07:00:00Z"):
        _, event = parse(assertion(valid_from=text))
        assert isinstance(event, Assertion)
        assert format_instant(event.valid_from) == "2025-03-02T07:00:00.000000Z"


@pytest.mark.parametrize(
    ("content", "code", "position"), [("ok\0", "nul", 2), ("\ud83d", "lone_surrogate", 0)]
)
def test_unstorable_text_is_refused_at_the_door_with_its_position(
    content: str, code: str, position: int
) -> None:
    refusal = fault_of(lambda: parse(observation(content=content)))
    assert (refusal.code, refusal.field) == (code, "content")
    assert f"character {position}" in refusal.detail


@pytest.mark.parametrize("name", ["\ud83d", "a\0b", "", "x" * 100_000, "adapter\n"])
def test_an_odd_field_name_is_refused_in_text_that_can_be_shown(name: str) -> None:
    refusal = fault_of(lambda: parse(observation(**{name: 1})))
    assert refusal.code in ("unknown_field", "wrong_type")
    assert len(refusal.field.encode()) < 1_000


def test_a_key_that_is_not_text_is_refused() -> None:
    raw: dict[Any, Any] = observation()
    assert fault(raw | {7: "x"})[0] == "wrong_type"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "name", ["content", "scope", "value", "justifications", "payload", "target", "kind", "extra"]
)
def test_deep_nesting_is_a_fault_of_the_event_alone(name: str) -> None:
    deep = nested(50_000)
    for raw in (observation(), assertion(), DELETION, NOTE):
        fault(raw | {name: deep})
        fault(raw | {name: {"a": deep}})


def test_many_faults_are_one_refusal() -> None:
    raw = observation() | {f"x{i}": i for i in range(20_000)}
    assert fault(raw)[0] == "unknown_field"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.sampled_from([observation(), assertion(), DELETION, CONTROL, NOTE]),
    st.sampled_from(
        [
            "kind",
            "scope",
            "event_id",
            "actor",
            "occurred_at",
            "content",
            "content_ref",
            "salience",
            "value",
            "type",
            "valid_to",
            "confidence",
            "derivation",
            "justifications",
            "target",
            "payload",
            "members",
            "expires_at",
            "reason",
        ]
    ),
    anything,
)
def test_whatever_stands_in_a_field_the_only_error_is_a_refusal(
    raw: dict[str, Any], name: str, value: object
) -> None:
    try:
        kind, event = parse(raw | {name: value})
    except InvalidEvent as refusal:
        json.dumps(str(refusal), ensure_ascii=False).encode()
        return
    again = parse(json.loads(json.dumps(event_json(kind, event))))[1]
    assert replace(again.envelope, filled=()) == replace(event.envelope, filled=())


def test_a_fault_that_has_no_words_of_ours_is_a_refusal_all_the_same() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(set[int], config={"strict": True}).validate_python("x")
    fault = refusal(caught.value, ()).fault
    assert (fault.code, fault.detail) == ("wrong_type", "Input should be a valid set")


def test_deletions_controls_and_working_sets() -> None:
    _, event = parse(DELETION | {"target": {"observation": "e1"}})
    assert isinstance(event, Deletion)
    assert (event.target, event.target_id, event.reason) == ("observation", "e1", "")
    _, event = parse(DELETION)
    assert isinstance(event, Deletion)
    assert (event.target, event.target_id) == ("subject", None)
    _, event = parse(CONTROL | {"target": {"workingset": "w1"}})
    assert isinstance(event, Control)
    assert (event.target_kind, event.target_id) == ("workingset", "w1")
    _, event = parse({"kind": "workingset", "scope": SCOPE, "workingset_id": "w1", "task": "t"})
    assert isinstance(event, WorkingSet)
    assert (event.members, event.expires_at) == ((), None)


def test_a_payload_is_kept_as_canonical_json() -> None:
    _, event = parse(NOTE)
    assert isinstance(event, Note)
    assert event.payload == '{"a":[null],"b":1}'
