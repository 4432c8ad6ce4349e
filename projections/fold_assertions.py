"""Folding assertions: an owned fact id, whatever became of it, and its further entries.

A later entry of the same assertion replaces the body, whose key is then to be destroyed. Rows keep
hashes of sources and target also where no content is kept, so that authority, supersession and
deletion are judged the same after erasure.
"""

from __future__ import annotations

from msgspec.structs import replace

from projections import keys
from projections.lexical_rows import index_again
from projections.rows import (
    FactRow,
    GroupSize,
    Mark,
    Present,
    Waiting,
)
from projections.step import (
    NEVER,
    Step,
    add_document,
    arrived,
    cite,
    hide_sources,
    may_delete,
    touch,
)
from projections.support import outranks
from schemas.bodies import (
    AssertionBody,
    Check,
    Witnesses,
)
from schemas.entry import (
    NO_FOLLOW_UP,
    NONE16,
)
from schemas.kinds import Decision, Reason

_IN_FORCE = (Decision.ACCEPTED, Decision.CANDIDATE)


def fold_assertion(step: Step) -> None:
    """Fold an assertion's first entry or a follow-up."""
    header = step.header
    if header.record == NONE16 or (
        header.decision == Decision.REJECTED and header.reason != Reason.AMBIGUOUS_QUOTE
    ):
        return
    old = step.state.fact(header.scope, header.record)
    row = _new_fact(step) if old is None else _followed_up(step, old)
    if header.decision != Decision.PARKED and not row.decided_at:
        row = replace(row, decided_at=header.recorded_at)
    if header.decision in _IN_FORCE:
        row = _admit(step, row)
    step.state.put(keys.fact(header.scope, header.record), row)
    if old is not None and old.event is None and row.event is not None and old.ordinal >= 0:
        index_again(step.state, header.scope, row.ordinal)
    _await(step, row)
    for waiting in arrived(step):
        _apply_waiting(step, waiting)
    row = step.state.fact(header.scope, header.record) or row
    if row.retractions or row.decision == Decision.QUARANTINED:
        hide_sources(step, header.record, row)
    if header.decision != Decision.PARKED:
        touch(step, header.record, further=old is None)


def _new_fact(step: Step) -> FactRow:
    header, state = step.header, step.state
    body = step.body if isinstance(step.body, AssertionBody) else None
    for source16 in dict.fromkeys(header.sources):
        cite(step, source16)
    if header.decision != Decision.COVERED:
        group = keys.group(header.scope, header.entity_attribute)
        state.put(group + header.record, Present(header.recorded_at))
        size_key = keys.group_size(header.scope, header.entity_attribute)
        size: GroupSize | None = state.row(size_key)
        state.put(size_key, GroupSize(size.facts + 1 if size else 1))
    return FactRow(
        sequence=header.sequence,
        recorded_at=header.recorded_at,
        decided_at=0,
        append=header.append_ms,
        partition=header.partition,
        offset=header.offset,
        decision=header.decision,
        reason=header.reason,
        flags=header.flags,
        tier=header.tier,
        adapter=header.adapter,
        subject=header.subject,
        key_id=header.key_id,
        event=body.event if body else None,
        witnesses=body.witnesses if body else (),
        risks=body.risks if body else (),
        sources=header.sources,
        supersedes=header.supersedes,
        entity_attribute=header.entity_attribute,
        idempotency=header.idempotency,
        content=header.content,
        retractions=(),
        deletions=(),
        timed_out=0,
        expired=0,
        ordinal=-1,
        hash=step.hash,
    )


def _followed_up(step: Step, old: FactRow) -> FactRow:
    """A later entry of the same assertion: it replaces the body, whose key is to be destroyed."""
    header = step.header
    body = step.body if isinstance(step.body, AssertionBody) else None
    if header.follows != NO_FOLLOW_UP and old.key_id != NONE16:
        step.state.doom(old.key_id, header.recorded_at)
    return replace(
        old,
        sequence=header.sequence,
        decision=header.decision,
        reason=header.reason,
        key_id=header.key_id,
        event=body.event if body else None,
        witnesses=body.witnesses if body else (),
        risks=body.risks if body else (),
        hash=step.hash,
    )


def _admit(step: Step, row: FactRow) -> FactRow:
    """The assertion is a fact: searchable from now on, perhaps expiring.

    Where the body was replaced by a later entry and destroyed, the place is kept until that entry.
    """
    event, scope16 = row.event, step.header.scope
    if event is not None and event.expires_at is not None and not row.expired:
        key = keys.expiring(event.expires_at, scope16, step.header.record)
        step.state.put(key, Present(row.decided_at))
    return replace(row, ordinal=add_document(step, True)) if row.ordinal < 0 else row


def awaits(witnesses: Witnesses) -> bool:
    """Whether a premise may still be checked: its source is to come."""
    return any(
        w.check == Check.PENDING and (w.on_fact or w.awaited is not None)
        for justification in witnesses
        for w in justification
    )


def _await(step: Step, row: FactRow) -> None:
    """Keep the index of assertions that a coming premise, a barrier or a time-out concerns."""
    header = step.header
    key = keys.awaiting(row.subject, header.scope, header.record)
    waits = row.decision == Decision.PARKED or (row.decision in _IN_FORCE and awaits(row.witnesses))
    present = step.state.row(key)
    if not waits:
        if present is not None:
            step.state.put(key, None)
    elif row.decision != Decision.PARKED:
        step.state.put(key, Present(NEVER))
    elif present is None:
        step.state.put(key, Present(header.recorded_at))


def _apply_waiting(step: Step, waiting: Waiting) -> None:
    row = step.state.fact(step.header.scope, step.header.record)
    assert row is not None
    mark = Mark(waiting.recorded_at, waiting.append)
    key = keys.fact(step.header.scope, step.header.record)
    if waiting.deletion:
        if may_delete(waiting.adapter, waiting.by_operator, row.adapter):
            step.state.put(key, replace(row, deletions=(*row.deletions, mark)))
    elif outranks(waiting.adapter, waiting.tier, row):
        step.state.put(key, replace(row, retractions=(*row.retractions, mark)))
