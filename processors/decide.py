"""`decide`: what becomes of a received event (SPEC §2, §4; docs/semantics.md §1 to §5). Pure.

One function a kind, after three steps that all share: idempotency, the subject's barrier, and, for
kinds that own ids, the id. Reads state and policy; no clock, no randomness, no I/O.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from processors.assertions import bind, checked_decision, flags_of, without_words
from processors.draft import Draft
from processors.receive import Received
from processors.risk import scan
from projections.state import Reader, cutoff_of
from projections.step import may_delete
from projections.support import outranks
from schemas.bodies import AssertionBody, ObservationBody, RefusedBody, event_body
from schemas.entry import (
    BY_OPERATOR,
    MOVES_HEAD,
    NONE16,
    TARGET_FACT,
    TARGET_OBSERVATION,
    TARGET_TYPE,
)
from schemas.errors import Fault
from schemas.events import Assertion, Control, Deletion, Event, Observation, Retraction, WorkingSet
from schemas.kinds import Decision, Kind, Reason
from schemas.normalise import normalise_key
from schemas.policy import Policy
from schemas.sealing import Hasher

_encode = msgspec.msgpack.Encoder().encode


class Context(msgspec.Struct):
    """What deciding reads: state, policy, keyed hashes, and the τ that the entry will have."""

    state: Reader
    policy: Policy
    hasher: Hasher
    now: int


def decide(received: Received, context: Context) -> Draft:
    """The entry that a received event leaves."""
    event, hasher = received.event, context.hasher
    envelope = event.envelope
    scope16 = hasher.scope(envelope.scope)
    adapter16 = hasher.adapter(envelope.adapter)
    kind = received.place.kind
    draft = Draft(
        place=received.place,
        decision=Decision.REJECTED,
        reason=Reason.INVALID,
        body=RefusedBody(envelope.event_id, kind, None),
        flags=BY_OPERATOR if received.operator else 0,
        tier=received.tier,
        scope=scope16,
        subject=hasher.subject(envelope.scope),
        idempotency=hasher.idempotency(scope16, adapter16, kind, envelope.idempotency_key),
        content=hasher.content(callers_content(event)),
        adapter=adapter16,
    )
    used = context.state.used(draft.idempotency)
    if used is not None:
        if used.content == draft.content:
            return _decided(draft, Decision.DUPLICATE)
        return _refuse(
            draft,
            Reason.IDEMPOTENCY_CONFLICT,
            "idempotency_key",
            "the key was used for other content",
            "use a new key for new content",
        )
    return _DECIDERS[kind](draft, event, received, context)


def callers_content(event: Event) -> bytes:
    """What the caller said, canonically: without the event id and without filled-in fields."""
    envelope = event.envelope
    filled = envelope.filled
    changes: dict[str, object] = {}
    if isinstance(event, Assertion):
        if "fact_id" in filled:
            changes["fact_id"] = ""
        if "valid_from" in filled:
            changes["valid_from"] = 0
    changes["envelope"] = replace(
        envelope,
        event_id="",
        filled=(),
        occurred_at=0 if "occurred_at" in filled else envelope.occurred_at,
    )
    return _encode(replace(event, **changes))


def _decided(draft: Draft, decision: Decision, reason: Reason = Reason.NONE) -> Draft:
    draft.decision = decision
    draft.reason = reason
    return draft


def _refuse(draft: Draft, reason: Reason, field: str, detail: str, remedy: str) -> Draft:
    assert isinstance(draft.body, RefusedBody)
    draft.body = replace(draft.body, fault=Fault(reason.code, field, detail, remedy))
    return _decided(draft, Decision.REJECTED, reason)


def _barrier(draft: Draft, context: Context) -> Draft | None:
    """Covered by a barrier, or blocked by a scope deletion (docs/semantics.md §3)."""
    cutoff, blocked = cutoff_of(context.state.subject(draft.subject))
    if draft.place.append_ms <= cutoff:
        return _decided(draft, Decision.COVERED, Reason.BARRIER)
    return _after_scope_deletion(draft) if blocked else None


def _blocked(draft: Draft, context: Context) -> Draft | None:
    """Refused because of a scope deletion; deletions and controls, which nothing covers, too."""
    _, blocked = cutoff_of(context.state.subject(draft.subject))
    return _after_scope_deletion(draft) if blocked else None


def _after_scope_deletion(draft: Draft) -> Draft:
    return _refuse(
        draft,
        Reason.SCOPE_DELETED,
        "scope",
        "the scope was deleted for good",
        "use another subject, or ask an operator for a restoration grant",
    )


def _id_taken(draft: Draft, field: str) -> Draft:
    draft.record = NONE16
    detail = "the id belongs to an earlier event"
    return _refuse(draft, Reason.ID_TAKEN, field, detail, "use a new id")


def _stopped(draft: Draft, owned: bool) -> Draft:
    """A covered or blocked event; an id that another event owns stays that one's."""
    if owned:
        draft.record = NONE16
    return draft


def _doomed(draft: Draft, context: Context) -> bool:
    """Whether a deletion that may act waits for this record."""
    for item in context.state.links(draft.record).waiting:
        if item.deletion and may_delete(item.adapter, item.by_operator, draft.adapter):
            return True
    return False


def _observation(draft: Draft, event: Event, received: Received, context: Context) -> Draft:
    assert isinstance(event, Observation)
    draft.record = context.hasher.observation(draft.scope, event.envelope.event_id)
    owned = context.state.observation(draft.scope, draft.record) is not None
    if _barrier(draft, context) is not None:
        return _stopped(draft, owned)
    if owned:
        return _id_taken(draft, "event_id")
    draft.flags |= MOVES_HEAD
    if _doomed(draft, context):
        return _decided(draft, Decision.DELETED, Reason.TARGET_DELETED)
    draft.body = ObservationBody(event, scan(event.content) if event.content else ())
    return _decided(draft, Decision.ACCEPTED)


def _assertion(draft: Draft, event: Event, received: Received, context: Context) -> Draft:
    assert isinstance(event, Assertion)
    hasher, scope16 = context.hasher, draft.scope
    record16 = hasher.fact(scope16, event.fact_id)
    bound = bind(event, scope16, context.state, hasher, context.now)
    draft.record = record16
    if event.supersedes:
        draft.supersedes = hasher.fact(scope16, event.supersedes)
    draft.entity_attribute = hasher.entity_attribute(
        scope16, normalise_key(event.entity), normalise_key(event.attribute)
    )
    draft.sources = bound.sources
    draft.flags |= flags_of(event, received.tier, context.policy)
    owned = context.state.fact(scope16, record16) is not None
    if _barrier(draft, context) is not None:
        return _stopped(draft, owned)
    if owned:
        return _id_taken(draft, "fact_id")
    if _doomed(draft, context):
        draft.flags |= MOVES_HEAD
        return _decided(draft, Decision.DELETED, Reason.TARGET_DELETED)
    draft.body = AssertionBody(
        without_words(event), bound.witnesses, scan(f"{event.entity} {event.value.text}")
    )
    return checked_decision(draft, context.state, context.policy)


def _retraction(draft: Draft, event: Event, received: Received, context: Context) -> Draft:
    assert isinstance(event, Retraction)
    stopped = _barrier(draft, context)
    if stopped is not None:
        return stopped
    draft.target = context.hasher.fact(draft.scope, event.fact_id)
    draft.target_type = TARGET_FACT
    row = context.state.fact(draft.scope, draft.target)
    if row is None:
        return _wait(draft, event)
    if not outranks(draft.adapter, received.tier, row):
        return _refuse(
            draft,
            Reason.NOT_AUTHORISED,
            "fact_id",
            "the fact is another adapter's, of a higher tier",
            "retract it as its own adapter or as one of a tier not below",
        )
    return _take(draft, event)


def _deletion(draft: Draft, event: Event, received: Received, context: Context) -> Draft:
    assert isinstance(event, Deletion)
    stopped = _blocked(draft, context)
    if stopped is not None:
        return stopped
    target_type = draft.target_type = TARGET_TYPE[event.target]
    if target_type not in (TARGET_OBSERVATION, TARGET_FACT):
        draft.target = draft.subject
        return _take(draft, event, draft.place.append_ms + context.policy.clock_skew_ms)
    assert event.target_id is not None
    if target_type == TARGET_OBSERVATION:
        target16 = context.hasher.observation(draft.scope, event.target_id)
        observation = context.state.observation(draft.scope, target16)
        owner = observation.adapter if observation is not None else None
    else:
        target16 = context.hasher.fact(draft.scope, event.target_id)
        fact = context.state.fact(draft.scope, target16)
        owner = fact.adapter if fact is not None else None
    draft.target = target16
    if owner is None:
        return _wait(draft, event)
    if not may_delete(draft.adapter, received.operator, owner):
        return _refuse(
            draft,
            Reason.NOT_AUTHORISED,
            "target",
            "the record is another adapter's",
            "delete it as its own adapter or with the role operator",
        )
    return _take(draft, event)


def _wait(draft: Draft, event: Event) -> Draft:
    """The target has not come: this waits and is judged when it does."""
    draft.body = event_body(event)
    return _decided(draft, Decision.PARKED, Reason.AWAITING_TARGET)


def _take(draft: Draft, event: Event, cutoff_ms: int = 0) -> Draft:
    draft.body = event_body(event, cutoff_ms)
    draft.flags |= MOVES_HEAD
    return _decided(draft, Decision.ACCEPTED)


def _workingset(draft: Draft, event: Event, received: Received, context: Context) -> Draft:
    assert isinstance(event, WorkingSet)
    draft.record = context.hasher.record(draft.scope, Kind.WORKINGSET, event.workingset_id)
    stopped = _barrier(draft, context)
    if stopped is not None:
        return stopped
    if context.state.workingset(draft.scope, draft.record) is not None:
        return _id_taken(draft, "workingset_id")
    return _take(draft, event)


def _control(draft: Draft, event: Event, received: Received, context: Context) -> Draft:
    assert isinstance(event, Control)
    stopped = _blocked(draft, context)
    if stopped is not None:
        return stopped
    decider = _CONTROLS.get(event.control)
    if decider is None:
        return _refuse(
            draft,
            Reason.UNSUPPORTED_CONTROL,
            "control",
            f"{event.control} is not in force in this version",
            "use timeout or expiry",
        )
    return decider(draft, event, context)


def _no_effect(draft: Draft, event: Event) -> Draft:
    draft.body = event_body(event)
    return _decided(draft, Decision.EVIDENCE_ONLY, Reason.NO_EFFECT)


def _timeout(draft: Draft, event: Control, context: Context) -> Draft:
    target16 = context.hasher.fact(draft.scope, event.target_id)
    row = context.state.fact(draft.scope, target16)
    if row is None or row.decision != Decision.PARKED or row.timed_out:
        return _no_effect(draft, event)
    draft.target, draft.target_type = target16, TARGET_FACT
    draft.body = event_body(event)
    return _decided(draft, Decision.ACCEPTED)


def _expiry(draft: Draft, event: Control, context: Context) -> Draft:
    if event.target_kind == "workingset":
        target16 = context.hasher.record(draft.scope, Kind.WORKINGSET, event.target_id)
        workingset = context.state.workingset(draft.scope, target16)
        expires = bool(
            workingset is not None
            and not workingset.expired
            and workingset.event.expires_at is not None
        )
        target_type = 0
    else:
        target16 = context.hasher.fact(draft.scope, event.target_id)
        fact = context.state.fact(draft.scope, target16)
        expires = bool(
            fact is not None
            and not fact.expired
            and fact.event is not None
            and fact.event.expires_at is not None
        )
        target_type = TARGET_FACT
    if not expires:
        return _no_effect(draft, event)
    draft.target, draft.target_type = target16, target_type
    return _take(draft, event)


_CONTROLS: dict[str, Callable[[Draft, Control, Context], Draft]] = {
    "timeout": _timeout,
    "expiry": _expiry,
}


def _not_in_force(draft: Draft, event: Event, received: Received, context: Context) -> Draft:
    """Kept as evidence: nothing accepted is lost, nothing unruled takes effect."""
    stopped = _barrier(draft, context)
    if stopped is not None:
        return stopped
    draft.body = event_body(event)
    return _decided(draft, Decision.EVIDENCE_ONLY, Reason.NOT_IN_FORCE)


_DECIDERS: dict[Kind, Callable[[Draft, Event, Received, Context], Draft]] = {
    Kind.OBSERVATION: _observation,
    Kind.ASSERTION: _assertion,
    Kind.RETRACTION: _retraction,
    Kind.DELETION: _deletion,
    Kind.ASSOCIATION: _not_in_force,
    Kind.PROCEDURE: _not_in_force,
    Kind.OUTCOME: _not_in_force,
    Kind.COMMITMENT: _not_in_force,
    Kind.APPRAISAL: _not_in_force,
    Kind.CHALLENGE: _not_in_force,
    Kind.GRANT: _not_in_force,
    Kind.WORKINGSET: _workingset,
    Kind.CONTROL: _control,
}
