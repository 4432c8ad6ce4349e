"""What every event must satisfy, whoever sends it (SPEC §1, §2, §4 "validate envelope and limits").

`check` is the one place that says so: the JSON boundary calls it, and so does the worker for events
that any producer put on the log. It reads no clock and no state, so its verdict never changes.
Faults name the field as JSON writes it (`justifications[0].premises[1].quote`), the limit and what
to send instead; the first one found is raised.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from schemas.canonical import check_payload
from schemas.errors import InvalidEvent, invalid
from schemas.events import (
    Assertion,
    ContentRef,
    Control,
    Deletion,
    Envelope,
    Event,
    Note,
    Observation,
    Retraction,
    WorkingSet,
)
from schemas.justifications import check_justifications
from schemas.kinds import ACTOR_ROLES, CONTROLS, DERIVATIONS, SENSITIVITIES, TARGETS, Kind
from schemas.limits import (
    CONTENT_BYTES,
    ID_BYTES,
    MEMBERS,
    NAME_BYTES,
    REASON_BYTES,
    URI_BYTES,
)
from schemas.normalise import normalise_key
from schemas.scope import Scope
from schemas.text import check_id, check_marks, check_text
from schemas.times import MAX_MICROS, MIN_MICROS, check_instant, format_instant
from schemas.values import check_value

FILLABLE = ("event_id", "fact_id", "occurred_at", "valid_from", "idempotency_key")
CONTROL_TARGETS = ("fact", "workingset")

_FILLABLE = frozenset(FILLABLE)
_ACTOR_ROLES = frozenset(ACTOR_ROLES)
_SENSITIVITIES = frozenset(SENSITIVITIES)
_SHA256 = re.compile(r"[0-9a-f]{64}")


def check(kind: Kind, event: Event) -> None:
    """Raise `InvalidEvent` unless `event`, of the struct that belongs to `kind`, is valid."""
    _CHECKS[kind](event)


@lru_cache(maxsize=8192)  # a scope that passed is not looked at again
def _scope(scope: Scope) -> None:
    check_id(scope.tenant, "scope.tenant")
    check_id(scope.namespace, "scope.namespace")
    check_id(scope.subject, "scope.subject")
    check_id(scope.branch, "scope.branch")


def _envelope(envelope: Envelope) -> None:
    scope, actor = envelope.scope, envelope.actor
    check_id(envelope.event_id, "event_id")
    _scope(scope)
    check_id(envelope.adapter, "adapter")
    check_id(actor.id, "actor.id")
    if actor.role not in _ACTOR_ROLES:
        raise _unknown_symbol("actor.role", ACTOR_ROLES)
    check_id(envelope.purpose, "purpose")
    if envelope.idempotency_key != envelope.event_id:
        check_id(envelope.idempotency_key, "idempotency_key")
    if not MIN_MICROS <= envelope.occurred_at <= MAX_MICROS:
        check_instant(envelope.occurred_at, "occurred_at")
    # What is filled does not count as content, so a producer must not hide content there.
    if envelope.filled and not _FILLABLE.issuperset(envelope.filled):
        raise _unknown_symbol("filled", FILLABLE)


def _observation(event: Observation) -> None:
    _envelope(event.envelope)
    content, reference = event.content, event.content_ref
    if content is not None:
        if reference is not None:
            raise invalid(
                "conflicting_fields",
                "content_ref",
                "content and content_ref are both given",
                "send one of them",
            )
        check_text(content, "content", CONTENT_BYTES, empty=True)
    elif reference is not None:
        _content_ref(reference)
    else:
        raise invalid(
            "missing_field",
            "content",
            "neither content nor content_ref is given",
            "send the content, or a content_ref to where the host keeps it",
        )
    check_text(event.media_type, "media_type", ID_BYTES)
    if event.sensitivity not in _SENSITIVITIES:
        raise _unknown_symbol("sensitivity", SENSITIVITIES)
    _unit_interval(event.salience, "salience")


def _content_ref(reference: ContentRef) -> None:
    check_text(reference.uri, "content_ref.uri", URI_BYTES)
    if _SHA256.fullmatch(reference.sha256) is None:
        raise invalid(
            "invalid_hash",
            "content_ref.sha256",
            "not a SHA-256 in lower-case hex",
            "send the 64 hex digits of the content's SHA-256",
            "64 characters",
        )
    if reference.bytes < 0:
        raise invalid(
            "out_of_range",
            "content_ref.bytes",
            "a size below zero",
            "send the content's size in bytes",
            "at least 0",
        )


def _assertion(event: Assertion) -> None:
    _envelope(event.envelope)
    check_id(event.fact_id, "fact_id")
    _name(event.entity, "entity")
    _name(event.attribute, "attribute")
    check_value(event.value, "value")
    _validity(event)
    _unit_interval(event.confidence, "confidence")
    if event.derivation.kind not in DERIVATIONS:
        raise _unknown_symbol("derivation.kind", DERIVATIONS)
    check_text(event.derivation.method, "derivation.method", ID_BYTES)
    check_text(event.derivation.version, "derivation.version", ID_BYTES)
    check_justifications(event.justifications)
    if event.supersedes is not None:
        check_id(event.supersedes, "supersedes")


def _name(text: str, field: str) -> None:
    check_text(text, field, NAME_BYTES)
    check_marks(text, field)
    if not normalise_key(text):
        raise invalid(
            "blank",
            field,
            "nothing visible is left after normalisation",
            "give at least one visible character",
        )


def _validity(event: Assertion) -> None:
    start = check_instant(event.valid_from, "valid_from")
    for end, field in ((event.valid_to, "valid_to"), (event.expires_at, "expires_at")):
        if end is None or check_instant(end, field) > start:
            continue
        filled = " (filled in)" if "valid_from" in event.envelope.filled else ""
        bounds = f"valid_from {format_instant(start)}{filled}, {field} {format_instant(end)}"
        if end == start:
            raise invalid(
                "empty_interval",
                field,
                f"the interval is empty: {bounds}",
                f"send a {field} after valid_from, or leave it out for an open interval",
                "valid_from < " + field,
            )
        raise invalid(
            "reversed_interval",
            field,
            f"the interval is reversed: {bounds}",
            f"send a valid_from before {field}",
            "valid_from < " + field,
        )


def _retraction(event: Retraction) -> None:
    _envelope(event.envelope)
    check_id(event.fact_id, "fact_id")
    _reason(event.reason)


def _deletion(event: Deletion) -> None:
    _envelope(event.envelope)
    if event.target not in TARGETS:
        raise _unknown_symbol("target", TARGETS)
    if event.target in ("observation", "fact"):
        if event.target_id is None:
            raise invalid(
                "missing_field",
                f"target.{event.target}",
                "the target has no id",
                f"name the {event.target} to delete",
            )
        check_id(event.target_id, f"target.{event.target}")
    elif event.target_id is not None:
        raise invalid(
            "conflicting_fields",
            f"target.{event.target}",
            f"a {event.target} deletion takes no id: the scope names it",
            f'send {{"{event.target}": true}}',
        )
    _reason(event.reason)


def _workingset(event: WorkingSet) -> None:
    _envelope(event.envelope)
    check_id(event.workingset_id, "workingset_id")
    check_text(event.task, "task", REASON_BYTES)
    if len(event.members) > MEMBERS:
        raise invalid(
            "too_many",
            "members",
            f"{len(event.members)} members",
            f"send at most {MEMBERS}",
            f"{MEMBERS} members",
        )
    for i, member in enumerate(event.members):
        check_id(member, f"members[{i}]")
    if event.expires_at is not None:
        check_instant(event.expires_at, "expires_at")


def _control(event: Control) -> None:
    _envelope(event.envelope)
    if event.control not in CONTROLS:
        raise _unknown_symbol("control", CONTROLS)
    if event.target_kind not in CONTROL_TARGETS:
        raise _unknown_symbol("target", CONTROL_TARGETS)
    check_id(event.target_id, f"target.{event.target_kind}")
    _reason(event.reason)


def _note(event: Note) -> None:
    _envelope(event.envelope)
    check_id(event.record_id, "record_id")
    check_payload(event.payload, "payload")


def _reason(text: str) -> None:
    check_text(text, "reason", REASON_BYTES, empty=True)


def _unit_interval(number: float, field: str) -> None:
    if not 0.0 <= number <= 1.0:  # NaN fails too
        raise invalid(
            "out_of_range", field, "not a number from 0 to 1", "send a number in [0, 1]", "0 to 1"
        )


def _unknown_symbol(field: str, vocabulary: tuple[str, ...]) -> InvalidEvent:
    allowed = ", ".join(vocabulary)
    return invalid(
        "unknown_symbol", field, "not a word of its vocabulary", f"use one of: {allowed}", allowed
    )


_CHECKS: dict[Kind, Callable[[Any], None]] = {
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
