"""From an intake record to an authentic, granted, valid event, or the draft that refuses it.

Order (SPEC §4): decode → authenticate → speaker → partition → grant and role → envelope and limits.
Trust comes from the registry alone; nothing in the event widens scope, role or tier. Undecodable
records are dead-lettered, never defaulted or skipped.
"""

from __future__ import annotations

import msgspec

from processors.draft import Draft, Place, place_of, refused
from projections.ports import LogRecord
from schemas.codec import Codec
from schemas.errors import Fault, InvalidEvent, Undecodable
from schemas.events import Control, Deletion, Event
from schemas.kinds import Decision, Kind, Reason, Role, Tier
from schemas.principals import Principal, Registry
from schemas.scope import partition_of
from schemas.signing import verify
from schemas.validate import check

_DEAD = {
    "undecodable": Reason.UNDECODABLE,
    "unknown_schema": Reason.UNKNOWN_SCHEMA,
    "unknown_symbol": Reason.UNKNOWN_SYMBOL,
    "null_value": Reason.NULL_VALUE,
    "oversize": Reason.OVERSIZE,
}


class Received(msgspec.Struct, frozen=True, gc=False):
    """An event that may be decided: by whom, of which tier, and whether as operator."""

    place: Place
    event: Event
    tier: Tier
    operator: bool


def receive(
    record: LogRecord, kind: Kind, codec: Codec, registry: Registry, partitions: int
) -> Received | Draft:
    """Check one intake record; never raises for what the record holds."""
    place = place_of(kind, record)
    try:
        event = codec.decode(kind, record.value)
    except Undecodable as error:
        fault = Fault(error.code, "", error.detail, "publish it again with a known schema")
        return refused(place, Decision.DEAD_LETTERED, _DEAD[error.code], "", fault)
    assert record.value is not None
    envelope = event.envelope
    signer = verify(kind, record.value, record.headers, registry.verification_key)
    if signer is None:
        return _reject(place, event, Reason.UNAUTHENTICATED, "the signature is missing or wrong")
    if not registry.may_speak_for(signer, envelope.adapter):
        detail = "the signer may not publish for this adapter"
        return _reject(place, event, Reason.SPEAKER_NOT_ALLOWED, detail)
    try:
        expected = partition_of(envelope.scope, partitions)
    except UnicodeEncodeError:
        return _reject(place, event, Reason.INVALID, "the scope is not valid Unicode")
    if expected != record.partition:
        detail = f"its subject belongs to partition {expected}"
        return _reject(place, event, Reason.WRONG_PARTITION, detail)
    principal = registry.principal(envelope.adapter)
    assert principal is not None
    refusal = _granted(principal, registry, event)
    if refusal is not None:
        return _reject(place, event, *refusal)
    try:
        check(kind, event)
    except InvalidEvent as error:
        return refused(place, Decision.REJECTED, Reason.INVALID, envelope.event_id, error.fault)
    operator = registry.may(principal, Role.OPERATOR, envelope.scope)
    return Received(place, event, principal.tier, operator)


def _granted(principal: Principal, registry: Registry, event: Event) -> tuple[Reason, str] | None:
    scope = event.envelope.scope
    wide = isinstance(event, Deletion) and event.target in ("subject", "scope")
    role = Role.OPERATOR if wide else Role.WRITER
    if isinstance(event, Control) and not principal.system:
        return Reason.ROLE_REQUIRED, "controls are published by system adapters only"
    if registry.may(principal, role, scope):
        return None
    if wide and registry.may(principal, Role.WRITER, scope):
        return Reason.ROLE_REQUIRED, "deleting a subject or scope takes the role operator"
    return Reason.SCOPE_NOT_GRANTED, f"no grant covers this scope with the role {role}"


_FIELD = {
    Reason.WRONG_PARTITION: "scope",
    Reason.SCOPE_NOT_GRANTED: "scope",
    Reason.ROLE_REQUIRED: "adapter",
    Reason.SPEAKER_NOT_ALLOWED: "adapter",
    Reason.UNAUTHENTICATED: "adapter",
    Reason.INVALID: "scope",
}
_REMEDY = {
    Reason.WRONG_PARTITION: "publish to the partition that the subject's hash names",
    Reason.SCOPE_NOT_GRANTED: "ask an operator for a grant that covers the scope",
    Reason.ROLE_REQUIRED: "publish as a principal that has the role",
    Reason.SPEAKER_NOT_ALLOWED: "sign as the adapter itself, or through a gateway",
    Reason.UNAUTHENTICATED: "sign the payload with the adapter's key",
    Reason.INVALID: "send valid Unicode",
}


def _reject(place: Place, event: Event, reason: Reason, detail: str) -> Draft:
    fault = Fault(reason.code, _FIELD[reason], detail, _REMEDY[reason])
    return refused(place, Decision.REJECTED, reason, event.envelope.event_id, fault)
