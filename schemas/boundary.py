"""JSON in, typed events out: the one door for every event (INTERFACE "Events").

Strict: unknown fields are refused by name, no type is coerced, no symbol is guessed, null is taken
only where the interface has it. Authority has no field here: the adapter is the authenticated
caller, passed in beside the event (SPEC §4). Clock and ids are passed in too; what they filled in
is listed in the envelope's `filled`, so that a repeat is recognised by what the caller said.
Whatever the input, the only error is `InvalidEvent`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace
from pydantic import ValidationError

from schemas.canonical import payload_text
from schemas.errors import invalid
from schemas.events import (
    Actor,
    Assertion,
    ContentRef,
    Control,
    Deletion,
    Derivation,
    Envelope,
    Event,
    Note,
    Observation,
    Premise,
    Retraction,
    WorkingSet,
)
from schemas.faults import refusal
from schemas.kinds import KIND_OF_WORD, Kind
from schemas.scope import Scope
from schemas.times import parse_instant
from schemas.validate import check
from schemas.values import parse_value
from schemas.wire import TYPE_OF_KIND, VALIDATOR_OF_KIND

UNSPECIFIED = "unspecified"
KINDS = ", ".join(KIND_OF_WORD)
DIRECT = Derivation("direct", UNSPECIFIED, UNSPECIFIED)

NewId = Callable[[], str]
Json = Mapping[str, Any]


def parse_event(raw: object, *, adapter: str, now: int, new_id: NewId) -> tuple[Kind, Event]:
    """The typed, checked event of a decoded JSON object.

    `adapter` is the authenticated caller, `now` µs, `new_id` makes a fresh id (a UUIDv7). Raises
    `InvalidEvent`: `missing_field`, `unknown_field`, `wrong_type`, `unknown_symbol` and whatever
    `schemas.validate.check` finds.
    """
    kind = _kind(raw)
    try:
        given = VALIDATOR_OF_KIND[kind](raw)
    except ValidationError as error:
        raise refusal(error, TYPE_OF_KIND[kind].__annotations__) from None
    event = _BUILDERS[kind](given, _envelope(given, adapter, now, new_id), new_id)
    check(kind, event)
    return kind, event


def _kind(raw: object) -> Kind:
    if not isinstance(raw, dict):
        raise invalid("wrong_type", "", "an event is a JSON object", "send one object an event")
    word = raw.get("kind")
    if word is None:
        raise invalid("missing_field", "kind", "the event has no kind", f"add one of: {KINDS}")
    if not isinstance(word, str):
        raise invalid("wrong_type", "kind", "not text", f"use one of: {KINDS}")
    kind = KIND_OF_WORD.get(word)
    if kind is None:
        remedy = f"use one of: {KINDS}"
        raise invalid("unknown_symbol", "kind", "no such kind of event", remedy, KINDS)
    return kind


def _envelope(given: Json, adapter: str, now: int, new_id: NewId) -> Envelope:
    filled: list[str] = []
    event_id = given.get("event_id")
    key = given.get("idempotency_key")
    if event_id is None:
        event_id = new_id()
        filled.append("event_id")
    if key is None:
        key = event_id
        if filled:
            filled.append("idempotency_key")
    if "occurred_at" in given:
        occurred_at = parse_instant(given["occurred_at"], "occurred_at")
    else:
        occurred_at = now
        filled.append("occurred_at")
    scope = given["scope"]
    actor = given.get("actor")
    return Envelope(
        event_id,
        Scope(scope["tenant"], scope["namespace"], scope["subject"], scope.get("branch", "main")),
        adapter,
        Actor(adapter, "system") if actor is None else Actor(actor["id"], actor["role"]),
        given.get("purpose", UNSPECIFIED),
        occurred_at,
        key,
        tuple(filled),
    )


def _observation(given: Json, envelope: Envelope, new_id: NewId) -> Observation:
    reference = given.get("content_ref")
    return Observation(
        envelope,
        given.get("content"),
        None if reference is None else ContentRef(**reference),
        given.get("media_type", "text/plain"),
        given.get("sensitivity", "normal"),
        given.get("salience", 0.5),
    )


def _assertion(given: Json, envelope: Envelope, new_id: NewId) -> Assertion:
    filled = envelope.filled
    fact_id = given.get("fact_id")
    if fact_id is None:
        fact_id = new_id()
        filled = (*filled, "fact_id")
    if "valid_from" in given:
        valid_from = parse_instant(given["valid_from"], "valid_from")
    else:
        valid_from = envelope.occurred_at
        if "occurred_at" in filled:
            filled = (*filled, "valid_from")
    derivation = given.get("derivation")
    return Assertion(
        envelope if filled == envelope.filled else replace(envelope, filled=filled),
        fact_id,
        given["entity"],
        given["attribute"],
        parse_value(given["value"], given.get("type"), "value"),
        valid_from,
        _instant(given, "valid_to"),
        given.get("confidence", 1.0),
        DIRECT if derivation is None else _derivation(derivation),
        tuple(
            tuple(Premise(**premise) for premise in justification["premises"])
            for justification in given["justifications"]
        ),
        given.get("supersedes"),
        _instant(given, "expires_at"),
    )


def _derivation(given: Json) -> Derivation:
    return Derivation(
        given["kind"], given.get("method", UNSPECIFIED), given.get("version", UNSPECIFIED)
    )


def _retraction(given: Json, envelope: Envelope, new_id: NewId) -> Retraction:
    return Retraction(envelope, given["fact_id"], given.get("reason", ""))


def _deletion(given: Json, envelope: Envelope, new_id: NewId) -> Deletion:
    target, named = _one_target(
        given["target"], '{"observation": id}, {"fact": id}, {"subject": true} or {"scope": true}'
    )
    if named is False:
        raise invalid("wrong_type", f"target.{target}", "found false", "send true, or no target")
    return Deletion(envelope, target, None if named is True else named, given.get("reason", ""))


def _workingset(given: Json, envelope: Envelope, new_id: NewId) -> WorkingSet:
    return WorkingSet(
        envelope,
        given["workingset_id"],
        given["task"],
        tuple(given.get("members", ())),
        _instant(given, "expires_at"),
    )


def _control(given: Json, envelope: Envelope, new_id: NewId) -> Control:
    target, named = _one_target(given["target"], '{"fact": id} or {"workingset": id}')
    return Control(envelope, given["control"], target, named, given.get("reason", ""))


def _note(given: Json, envelope: Envelope, new_id: NewId) -> Note:
    return Note(envelope, given["record_id"], payload_text(given["payload"], "payload"))


def _one_target(target: Json, choices: str) -> tuple[str, Any]:
    if len(target) != 1:
        raise invalid(
            "missing_field" if not target else "conflicting_fields",
            "target",
            f"{len(target)} targets",
            f"send exactly one of {choices}",
            "1",
        )
    return next(iter(target.items()))


def _instant(given: Json, field: str) -> int | None:
    text = given.get(field)
    return None if text is None else parse_instant(text, field)


_BUILDERS: dict[Kind, Callable[[Json, Envelope, NewId], Event]] = {
    Kind.OBSERVATION: _observation,
    Kind.ASSERTION: _assertion,
    Kind.RETRACTION: _retraction,
    Kind.DELETION: _deletion,
    Kind.ASSOCIATION: _note,
    Kind.PROCEDURE: _note,
    Kind.OUTCOME: _note,
    Kind.COMMITMENT: _note,
    Kind.APPRAISAL: _note,
    Kind.CHALLENGE: _note,
    Kind.GRANT: _note,
    Kind.WORKINGSET: _workingset,
    Kind.CONTROL: _control,
}
