"""Events to and from the fields of their Avro records, one plain function a kind and direction.

Fields are taken by name. Optional ones are read with `get`, since a schema of another version may
lack them; all others are there, or `schemas.writers` would have refused the schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    Value,
    WorkingSet,
)
from schemas.kinds import Kind
from schemas.scope import Scope

SCHEMA_VERSION = 1

Fields = dict[str, Any]


def _envelope(fields: Fields) -> Envelope:
    scope = fields["scope"]
    actor = fields["actor"]
    return Envelope(
        fields["event_id"],
        Scope(scope["tenant"], scope["namespace"], scope["subject"], scope["branch"]),
        fields["adapter"],
        Actor(actor["id"], actor["role"]),
        fields["purpose"],
        fields["occurred_at"],
        fields["idempotency_key"],
        tuple(fields["filled"]),
    )


def _envelope_fields(envelope: Envelope) -> Fields:
    scope = envelope.scope
    return {
        "event_id": envelope.event_id,
        "scope": {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "subject": scope.subject,
            "branch": scope.branch,
        },
        "adapter": envelope.adapter,
        "actor": {"id": envelope.actor.id, "role": envelope.actor.role},
        "purpose": envelope.purpose,
        "occurred_at": envelope.occurred_at,
        "idempotency_key": envelope.idempotency_key,
        "filled": envelope.filled,
        "schema_version": SCHEMA_VERSION,
    }


def _observation(fields: Fields) -> Observation:
    ref = fields.get("content_ref")
    return Observation(
        _envelope(fields),
        fields.get("content"),
        None if ref is None else ContentRef(ref["uri"], ref["sha256"], ref["bytes"]),
        fields["media_type"],
        fields["sensitivity"],
        fields["salience"],
    )


def _observation_fields(event: Observation) -> Fields:
    fields = _envelope_fields(event.envelope)
    ref = event.content_ref
    fields["content"] = event.content
    fields["content_ref"] = (
        None if ref is None else {"uri": ref.uri, "sha256": ref.sha256, "bytes": ref.bytes}
    )
    fields["media_type"] = event.media_type
    fields["sensitivity"] = event.sensitivity
    fields["salience"] = event.salience
    return fields


def _premise(fields: Fields) -> Premise:
    get = fields.get
    return Premise(get("observation"), get("quote"), get("start"), get("end"), get("fact"))


def _premise_fields(premise: Premise) -> Fields:
    return {
        "observation": premise.observation,
        "quote": premise.quote,
        "start": premise.start,
        "end": premise.end,
        "fact": premise.fact,
    }


def _assertion(fields: Fields) -> Assertion:
    value = fields["value"]
    derivation = fields["derivation"]
    return Assertion(
        _envelope(fields),
        fields["fact_id"],
        fields["entity"],
        fields["attribute"],
        Value(value["type"], value["text"]),
        fields["valid_from"],
        fields.get("valid_to"),
        fields["confidence"],
        Derivation(derivation["kind"], derivation["method"], derivation["version"]),
        tuple([tuple([_premise(p) for p in j["premises"]]) for j in fields["justifications"]]),
        fields.get("supersedes"),
        fields.get("expires_at"),
    )


def _assertion_fields(event: Assertion) -> Fields:
    fields = _envelope_fields(event.envelope)
    derivation = event.derivation
    fields["fact_id"] = event.fact_id
    fields["entity"] = event.entity
    fields["attribute"] = event.attribute
    fields["value"] = {"type": event.value.type, "text": event.value.text}
    fields["valid_from"] = event.valid_from
    fields["valid_to"] = event.valid_to
    fields["confidence"] = event.confidence
    fields["derivation"] = {
        "kind": derivation.kind,
        "method": derivation.method,
        "version": derivation.version,
    }
    fields["justifications"] = [
        {"premises": [_premise_fields(p) for p in premises]} for premises in event.justifications
    ]
    fields["supersedes"] = event.supersedes
    fields["expires_at"] = event.expires_at
    return fields


def _retraction(fields: Fields) -> Retraction:
    return Retraction(_envelope(fields), fields["fact_id"], fields["reason"])


def _retraction_fields(event: Retraction) -> Fields:
    return {
        **_envelope_fields(event.envelope),
        "fact_id": event.fact_id,
        "reason": event.reason,
    }


def _deletion(fields: Fields) -> Deletion:
    return Deletion(_envelope(fields), fields["target"], fields.get("target_id"), fields["reason"])


def _deletion_fields(event: Deletion) -> Fields:
    return {
        **_envelope_fields(event.envelope),
        "target": event.target,
        "target_id": event.target_id,
        "reason": event.reason,
    }


def _workingset(fields: Fields) -> WorkingSet:
    return WorkingSet(
        _envelope(fields),
        fields["workingset_id"],
        fields["task"],
        tuple(fields["members"]),
        fields.get("expires_at"),
    )


def _workingset_fields(event: WorkingSet) -> Fields:
    return {
        **_envelope_fields(event.envelope),
        "workingset_id": event.workingset_id,
        "task": event.task,
        "members": event.members,
        "expires_at": event.expires_at,
    }


def _control(fields: Fields) -> Control:
    return Control(
        _envelope(fields),
        fields["control"],
        fields["target_kind"],
        fields["target_id"],
        fields["reason"],
    )


def _control_fields(event: Control) -> Fields:
    return {
        **_envelope_fields(event.envelope),
        "control": event.control,
        "target_kind": event.target_kind,
        "target_id": event.target_id,
        "reason": event.reason,
    }


def _note(fields: Fields) -> Note:
    return Note(_envelope(fields), fields["record_id"], fields["payload"])


def _note_fields(event: Note) -> Fields:
    return {
        **_envelope_fields(event.envelope),
        "record_id": event.record_id,
        "payload": event.payload,
    }


EVENT_OF_FIELDS: dict[Kind, Callable[[Fields], Event]] = {
    **dict.fromkeys(Kind, _note),
    Kind.OBSERVATION: _observation,
    Kind.ASSERTION: _assertion,
    Kind.RETRACTION: _retraction,
    Kind.DELETION: _deletion,
    Kind.WORKINGSET: _workingset,
    Kind.CONTROL: _control,
}

FIELDS_OF_EVENT: dict[Kind, Callable[[Any], Fields]] = {
    **dict.fromkeys(Kind, _note_fields),
    Kind.OBSERVATION: _observation_fields,
    Kind.ASSERTION: _assertion_fields,
    Kind.RETRACTION: _retraction_fields,
    Kind.DELETION: _deletion_fields,
    Kind.WORKINGSET: _workingset_fields,
    Kind.CONTROL: _control_fields,
}
