"""Answers have the interface's names and shapes, frozen, and survive JSON (INTERFACE "Answers")."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from schemas import answers
from schemas.kinds import RECEIPT_STATE, VALUE_TYPES, Tier

T = "2026-05-01T09:00:00.000000Z"
REASON = {"code": "quote_not_found", "field": "quote", "detail": "d", "remedy": "r"}
ENTRY = {"scope_sequence": 1, "hash": "9f" * 32, "recorded_at": T}
RECEIPT = {
    "event_id": "e1",
    "kind": "observation",
    "token": "t",
    "state": "accepted",
    "reason": None,
    "entry": ENTRY,
}
SNAPSHOT = {
    "valid_at": T,
    "recorded_at": None,
    "scope_sequence": 1,
    "scope_hash": "9f" * 32,
    "historical": False,
    "token": "t",
}
EVIDENCE = {
    "observation": "e1",
    "quote": "q",
    "start": 0,
    "end": 1,
    "occurred_at": T,
    "actor": "alice",
}
FACT = {
    "fact_id": "f1",
    "entity": "alice",
    "attribute": "city",
    "value": "Berlin",
    "type": "string",
    "valid_from": T,
    "valid_to": None,
    "recorded_at": T,
    "status": "active",
    "confidence": 1.0,
    "asserted_by": {
        "adapter": "crm",
        "tier": "service",
        "actor": "alice",
        "role": "user",
        "derivation": "direct",
    },
    "evidence": [EVIDENCE],
    "supersedes": None,
    "superseded_by": None,
}
EPISODE = {
    "event_id": "e1",
    "content": "c",
    "content_ref": None,
    "media_type": "text/plain",
    "occurred_at": T,
    "recorded_at": T,
    "actor": "alice",
    "role": "user",
    "sensitivity": "normal",
}
CONFLICT = {
    "conflict_id": "c1",
    "entity": "alice",
    "attribute": "city",
    "sides": [FACT, FACT],
    "overlap": {"from": T, "to": None},
}
RESULT = {
    "id": "f1",
    "score": 1.0,
    "legs": ["exact"],
    "text": "alice city Berlin",
    "complete": True,
}
RECALL = {
    "snapshot": SNAPSHOT,
    "status": "complete",
    "results": [
        RESULT | {"type": "fact", "fact": FACT, "releasable": True},
        RESULT | {"type": "episode", "episode": EPISODE, "releasable": False},
        RESULT | {"type": "conflict", "conflict": CONFLICT, "releasable": False},
    ],
    "budget": {"limit": 10, "token_budget": None, "results": 3, "tokens": 9},
    "missing": [REASON],
    "trace_id": "x",
}
CLAIM = {
    "entity": "alice",
    "attribute": "city",
    "value": "Berlin",
    "type": "string",
    "facts": ["f1"],
    "ok": False,
    "reason": "conflicting",
}
RELEASE = {"snapshot": SNAPSHOT, "decision": "abstain", "claims": [CLAIM], "record": {"v": 1}}
FINDING = {"partition": 0, "sequence": 3, "what": "hash", "detail": "d"}
AUDITED = FACT | {"status": "deleted", "cause": REASON, "value": None, "type": None}
ENTRY_SHOWN = {
    "scope_sequence": None,
    "hash": "9f" * 32,
    "recorded_at": T,
    "kind": "assertion",
    "decision": "rejected",
    "reason": "id_taken",
    "event_id": None,
    "record_id": None,
    "adapter": None,
    "topic": "assertions",
    "appended_at": T,
    "policy_version": "00",
    "schema_version": "00",
    "normaliser_version": 1,
}
EXAMPLES: list[tuple[Any, dict[str, Any]]] = [
    (answers.Reason, REASON),
    (answers.EntryRef, ENTRY),
    (answers.Receipt, RECEIPT),
    (answers.Receipts, {"receipts": [RECEIPT]}),
    (answers.Snapshot, SNAPSHOT),
    (answers.Evidence, EVIDENCE),
    (answers.Fact, FACT),
    (answers.Episode, EPISODE),
    (answers.Conflict, CONFLICT),
    (answers.Recall, RECALL),
    (answers.ReleasedClaim, CLAIM),
    (answers.Release, RELEASE),
    (answers.ReleaseCheck, {"valid": False, "reason": "stale_head"}),
    (answers.Page[answers.Fact], {"snapshot": SNAPSHOT, "items": [FACT], "next_cursor": None}),
    (answers.Head, {"scope_sequence": 0, "scope_hash": "00" * 32, "token": "t"}),
    (answers.AuditEntry, ENTRY_SHOWN),
    (answers.AuditFact, AUDITED),
    (
        answers.Verification,
        {
            "ok": False,
            "partitions": [{"partition": 0, "entries": 3, "head": "9f" * 32}],
            "damage": [FINDING],
            "notices": [FINDING | {"sequence": None}],
        },
    ),
    (answers.NewKey, {"name": "n", "key": "k"}),
    (
        answers.Problem,
        {
            "type": "about:blank",
            "title": "t",
            "status": 422,
            "detail": "d",
            "code": "too_long",
            "field": "content",
            "limit": "1048576 bytes",
            "remedy": "r",
        },
    ),
]


@pytest.mark.parametrize(("model", "raw"), EXAMPLES, ids=lambda x: getattr(x, "__name__", ""))
def test_an_answer_survives_json_exactly(model: type[BaseModel], raw: dict[str, Any]) -> None:
    answer = model.model_validate(raw)
    assert answer.model_dump(mode="json") == raw
    assert model.model_validate_json(answer.model_dump_json()) == answer


@pytest.mark.parametrize(("model", "raw"), EXAMPLES, ids=lambda x: getattr(x, "__name__", ""))
def test_an_answer_is_frozen_and_has_no_field_of_its_callers(
    model: type[BaseModel], raw: dict[str, Any]
) -> None:
    answer = model.model_validate(raw)
    with pytest.raises(ValidationError):
        setattr(answer, next(iter(model.model_fields)), None)
    with pytest.raises(ValidationError):
        model.model_validate(raw | {"extra": 1})


def test_every_answer_says_what_it_is() -> None:
    for _, model in inspect.getmembers(answers, inspect.isclass):
        if issubclass(model, answers.Answer):
            assert model.__doc__
            assert model.model_config["frozen"]
            assert TypeAdapter(model).json_schema()


def test_the_vocabularies_are_those_of_the_core() -> None:
    schema = answers.Receipt.model_json_schema()["properties"]["state"]["enum"]
    assert set(schema) == {"received", *RECEIPT_STATE.values()}
    schema = answers.Fact.model_json_schema()["properties"]["type"]["enum"]
    assert tuple(schema) == VALUE_TYPES
    schema = answers.AssertedBy.model_json_schema()["properties"]["tier"]["enum"]
    assert schema == [tier.word for tier in Tier]


@pytest.mark.parametrize(
    ("value", "type_"), [("7", str), (7, int), (True, bool), (1, int), ("1.50", str), (2**62, int)]
)
def test_a_value_keeps_its_json_type(value: object, type_: type) -> None:
    fact = answers.Fact.model_validate(FACT | {"value": value})
    assert type(fact.value) is type_
    assert answers.Fact.model_validate_json(fact.model_dump_json()).value == value


@pytest.mark.parametrize("value", [None, 1.5, ["x"]])
def test_a_value_is_never_null_a_float_or_a_list(value: object) -> None:
    with pytest.raises(ValidationError):
        answers.Fact.model_validate(FACT | {"value": value})


@pytest.mark.parametrize("kind", ["episode", "conflict"])
def test_testimony_and_conflicts_cannot_be_marked_releasable(kind: str) -> None:
    body = EPISODE if kind == "episode" else CONFLICT
    result = RESULT | {"type": kind, kind: body, "releasable": True}
    with pytest.raises(ValidationError):
        answers.Recall.model_validate(RECALL | {"results": [result]})


def test_a_conflict_has_two_sides() -> None:
    with pytest.raises(ValidationError):
        answers.Conflict.model_validate(CONFLICT | {"sides": [FACT]})


@pytest.mark.parametrize("text", ["2026-05-01T09:00:00Z", "2026-05-01T09:00:00.000000+00:00", ""])
def test_times_leave_in_one_form(text: str) -> None:
    with pytest.raises(ValidationError):
        answers.Snapshot.model_validate(SNAPSHOT | {"valid_at": text})


def test_a_problem_leaves_out_what_does_not_apply() -> None:
    problem = answers.Problem(type="about:blank", title="t", status=503, detail="d", code="c")
    assert problem.model_dump() == {
        "type": "about:blank",
        "title": "t",
        "status": 503,
        "detail": "d",
        "code": "c",
    }
