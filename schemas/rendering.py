"""Typed events as JSON: the inverse of `schemas.boundary.parse_event` (INTERFACE "Events").

Every default is written out, times in UTC with microseconds; optional fields that hold nothing are
left out, but for `valid_to` and `supersedes`, which say null. The adapter is no field: who parses
the JSON again says who publishes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from schemas.events import (
    Assertion,
    Control,
    Deletion,
    Envelope,
    Event,
    Note,
    Observation,
    Premise,
    Retraction,
    WorkingSet,
)
from schemas.kinds import Kind
from schemas.times import format_instant
from schemas.values import json_value

Json = dict[str, object]


def event_json(kind: Kind, event: Event) -> Json:
    """The JSON object of an event; parsing it gives the event again but for `filled`."""
    return {"kind": kind.word, **_envelope(event.envelope), **_BODIES[kind](event)}


def _envelope(envelope: Envelope) -> Json:
    scope, actor = envelope.scope, envelope.actor
    return {
        "event_id": envelope.event_id,
        "scope": {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "subject": scope.subject,
            "branch": scope.branch,
        },
        "occurred_at": format_instant(envelope.occurred_at),
        "actor": {"id": actor.id, "role": actor.role},
        "purpose": envelope.purpose,
        "idempotency_key": envelope.idempotency_key,
    }


def _observation(event: Observation) -> Json:
    if event.content_ref is None:
        content: Json = {"content": event.content}
    else:
        reference = event.content_ref
        content = {
            "content_ref": {
                "uri": reference.uri,
                "sha256": reference.sha256,
                "bytes": reference.bytes,
            }
        }
    return {
        **content,
        "media_type": event.media_type,
        "sensitivity": event.sensitivity,
        "salience": event.salience,
    }


def _assertion(event: Assertion) -> Json:
    derivation = event.derivation
    return {
        "fact_id": event.fact_id,
        "entity": event.entity,
        "attribute": event.attribute,
        "value": json_value(event.value),
        "type": event.value.type,
        "valid_from": format_instant(event.valid_from),
        "valid_to": _instant(event.valid_to),
        "confidence": event.confidence,
        "derivation": {
            "kind": derivation.kind,
            "method": derivation.method,
            "version": derivation.version,
        },
        "justifications": [
            {"premises": [_premise(premise) for premise in premises]}
            for premises in event.justifications
        ],
        "supersedes": event.supersedes,
        **_expiry(event.expires_at),
    }


def _premise(premise: Premise) -> Json:
    if premise.fact is not None:
        return {"fact": premise.fact}
    quoted: Json = {"observation": premise.observation, "quote": premise.quote}
    if premise.start is None:
        return quoted
    return {**quoted, "start": premise.start, "end": premise.end}


def _retraction(event: Retraction) -> Json:
    return {"fact_id": event.fact_id, "reason": event.reason}


def _deletion(event: Deletion) -> Json:
    named: object = True if event.target_id is None else event.target_id
    return {"target": {event.target: named}, "reason": event.reason}


def _workingset(event: WorkingSet) -> Json:
    return {
        "workingset_id": event.workingset_id,
        "task": event.task,
        "members": list(event.members),
        **_expiry(event.expires_at),
    }


def _control(event: Control) -> Json:
    return {
        "control": event.control,
        "target": {event.target_kind: event.target_id},
        "reason": event.reason,
    }


def _note(event: Note) -> Json:
    return {"record_id": event.record_id, "payload": json.loads(event.payload)}


def _expiry(instant: int | None) -> Json:
    return {} if instant is None else {"expires_at": format_instant(instant)}


def _instant(instant: int | None) -> str | None:
    return None if instant is None else format_instant(instant)


_BODIES: dict[Kind, Callable[[Any], Json]] = {
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
