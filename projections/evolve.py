"""The fold: `evolve(state, entry) -> Evolution`, pure, one function a kind (SPEC §3).

Reads no clock, no randomness, no network: what was decided is in the entry. Rows gain marks and are
never judged here; what a status *is* stands in `support`, what is public in `view`. A body that is
gone (erased) leaves the header, which is enough to keep ids owned, keys held, targets deleted and
superseders in force.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from projections import keys
from projections.lexical_rows import index_again, index_documents
from projections.receipts import write_receipt
from projections.rows import (
    Barrier,
    CitationList,
    Document,
    EntryRow,
    FactRow,
    HeadRow,
    Mark,
    ObservationRow,
    Present,
    ReceiptRow,
    SubjectRow,
    Used,
    Waiting,
    WaitingList,
    WorkingSetRow,
)
from projections.state import Changes, Overlay, Reader
from projections.support import outranks
from schemas.bodies import (
    AssertionBody,
    Body,
    Check,
    EventBody,
    ObservationBody,
    Witnesses,
    event_id_of,
)
from schemas.entry import (
    BY_OPERATOR,
    MOVES_HEAD,
    NO_FOLLOW_UP,
    NONE16,
    TARGET_FACT,
    TARGET_OBSERVATION,
    TARGET_SCOPE,
    TARGET_SUBJECT,
    Entry,
    Header,
)
from schemas.events import Assertion, Control, WorkingSet
from schemas.kinds import Decision, Kind, Reason
from schemas.sealing import Hasher
from schemas.values import json_value

Due = tuple[bytes, bytes, bytes]
NEVER = 2**63 - 1


class Evolution(NamedTuple):
    """What one entry changes, the (subject, scope, fact) whose premises it touched, its receipt."""

    changes: Changes
    due: list[Due]
    receipt: ReceiptRow


class _Step(NamedTuple):
    """One entry on its way into the state."""

    state: Overlay
    header: Header
    hash: bytes
    body: Body | None
    hasher: Hasher
    due: list[Due]


def evolve(
    state: Reader, entry: Entry, body: Body | None, offset: int, hasher: Hasher
) -> Evolution:
    """Fold one entry that extends the head. `body` None means that it was erased."""
    step = _Step(Overlay(state), entry.header, entry.hash, body, hasher, [])
    _advance(step, offset)
    _hold_key(step)
    _FOLDS[Kind(step.header.kind)](step)
    receipt = write_receipt(step.state, step.header, step.hash, body, hasher)
    return Evolution(step.state.pending, step.due, receipt)


def _advance(step: _Step, offset: int) -> None:
    header, state = step.header, step.state
    checkpoint = state.checkpoint()
    assert checkpoint is not None
    positions = list(checkpoint.positions)
    if header.topic:
        positions[header.topic] = max(positions[header.topic], header.offset + 1)
    state.pending[keys.CHECKPOINT] = replace(
        checkpoint,
        count=header.sequence + 1,
        hash=step.hash,
        recorded_at=header.recorded_at,
        next_offset=offset + 1,
        positions=tuple(positions),
    )
    state.pending[keys.entry(header.sequence)] = EntryRow(offset, step.hash)
    if header.flags & MOVES_HEAD and header.target_type not in (TARGET_SUBJECT, TARGET_SCOPE):
        head = state.head(header.scope)
        state.pending[keys.head(header.scope)] = HeadRow(
            head.count + 1, header.sequence, step.hash, header.recorded_at, head.documents
        )


def _hold_key(step: _Step) -> None:
    header = step.header
    if header.idempotency == NONE16 or header.decision == Decision.DUPLICATE:
        return
    key = keys.idempotency(header.idempotency)
    used = step.state.used(header.idempotency)
    if used is None or used.event == NONE16:
        event16 = NONE16
        if step.body is not None:
            event16 = step.hasher.event(header.scope, header.kind, event_id_of(step.body))
        step.state.pending[key] = Used(header.content, event16)


# Observations


def _observation(step: _Step) -> None:
    header, state = step.header, step.state
    if header.record == NONE16 or header.decision not in _OBSERVED:
        return
    body = step.body if isinstance(step.body, ObservationBody) else None
    row = ObservationRow(
        header.sequence,
        header.recorded_at,
        header.append_ms,
        header.adapter,
        header.tier,
        step.hash,
        header.key_id,
        body.quote_key if body else b"",
        body.event if body else None,
        body.risks if body else (),
        (),
        (),
        -1,
    )
    if body is not None and body.event.content is not None:
        row = replace(row, ordinal=_document(step, False, body.event.content))
    state.pending[keys.observation(header.scope, header.record)] = row
    for waiting in _arrived(step):
        if waiting.deletion and may_delete(waiting.adapter, waiting.by_operator, header.adapter):
            _delete_observation(step, header.record, Mark(waiting.recorded_at, waiting.append))
    for fact16 in state.citing(header.record):
        fact = state.fact(header.scope, fact16)
        if fact is not None and (fact.retractions or _quarantined_by(fact, header.adapter)):
            _add_hider(step, header.record, fact16)
    _touch(step, header.record)


_OBSERVED = (Decision.ACCEPTED, Decision.COVERED, Decision.DELETED)


def may_delete(adapter: bytes, by_operator: bool, owner: bytes) -> bool:
    """A record is deleted by its own adapter or an operator (SPEC §4)."""
    return by_operator or adapter == owner


def _quarantined_by(fact: FactRow, adapter: bytes) -> bool:
    return fact.decision == Decision.QUARANTINED and fact.adapter == adapter


def _delete_observation(step: _Step, record16: bytes, mark: Mark) -> None:
    key = keys.observation(step.header.scope, record16)
    row = step.state.observation(step.header.scope, record16)
    assert row is not None
    step.state.pending[key] = replace(row, deletions=(*row.deletions, mark))


def _add_hider(step: _Step, record16: bytes, fact16: bytes) -> None:
    row = step.state.observation(step.header.scope, record16)
    if row is not None and fact16 not in row.hiders:
        key = keys.observation(step.header.scope, record16)
        step.state.pending[key] = replace(row, hiders=(*row.hiders, fact16))


def _document(step: _Step, fact: bool, text: str) -> int:
    """Append a searchable text to the scope and return its ordinal."""
    scope16 = step.header.scope
    head = step.state.head(scope16)
    ordinal = head.documents
    record = Document(fact, step.header.record, text)
    step.state.pending[keys.document(scope16, ordinal)] = record
    step.state.pending[keys.head(scope16)] = replace(head, documents=ordinal + 1)
    index_documents(step.state, scope16, ordinal + 1)
    return ordinal


# Assertions


def _assertion(step: _Step) -> None:
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
    step.state.pending[keys.fact(header.scope, header.record)] = row
    _await(step, row)
    for waiting in _arrived(step):
        _apply_waiting(step, waiting)
    row = step.state.fact(header.scope, header.record) or row
    if row.retractions or row.decision == Decision.QUARANTINED:
        _hide_sources(step, header.record, row)
    _touch(step, header.record)


_IN_FORCE = (Decision.ACCEPTED, Decision.CANDIDATE)


def _new_fact(step: _Step) -> FactRow:
    header, state = step.header, step.state
    body = step.body if isinstance(step.body, AssertionBody) else None
    for source16 in dict.fromkeys(header.sources):
        citing = state.citing(source16)
        state.pending[keys.citations(source16)] = CitationList((*citing, header.record))
    if header.decision != Decision.COVERED:
        group = keys.group(header.scope, header.entity_attribute)
        state.pending[group + header.record] = Present(header.recorded_at)
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


def _followed_up(step: _Step, old: FactRow) -> FactRow:
    """A later entry of the same assertion: it replaces the body, whose key is to be destroyed."""
    header = step.header
    body = step.body if isinstance(step.body, AssertionBody) else None
    if header.follows != NO_FOLLOW_UP and old.key_id != NONE16:
        step.state.pending[keys.doomed_key(old.key_id)] = Present(header.recorded_at)
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


def _admit(step: _Step, row: FactRow) -> FactRow:
    """The assertion is a fact: searchable from now on, perhaps expiring.

    Where the body was replaced by a later entry and destroyed, the place is kept until that entry.
    """
    event, scope16 = row.event, step.header.scope
    if event is not None and event.expires_at is not None and not row.expired:
        key = keys.expiring(event.expires_at, scope16, step.header.record)
        step.state.pending[key] = Present(row.decided_at)
    text = "" if event is None else fact_text(event)
    if row.ordinal < 0:
        return replace(row, ordinal=_document(step, True, text))
    document = step.state.document(scope16, row.ordinal)
    if document is not None and document.text == "" and text:
        step.state.pending[keys.document(scope16, row.ordinal)] = replace(document, text=text)
        index_again(step.state, scope16, row.ordinal)
    return row


def fact_text(event: Assertion) -> str:
    """What a fact is found by."""
    return f"{event.entity} {event.attribute} {json_value(event.value)}"


def awaits(witnesses: Witnesses) -> bool:
    """Whether a premise may still be checked: its source is to come."""
    return any(
        w.check == Check.PENDING and (w.on_fact or w.awaited is not None)
        for justification in witnesses
        for w in justification
    )


def _await(step: _Step, row: FactRow) -> None:
    """Keep the index of assertions that a coming premise, a barrier or a time-out concerns."""
    header = step.header
    key = keys.awaiting(row.subject, header.scope, header.record)
    waits = row.decision == Decision.PARKED or (row.decision in _IN_FORCE and awaits(row.witnesses))
    present = step.state.row(key)
    if not waits:
        if present is not None:
            step.state.pending[key] = None
    elif row.decision != Decision.PARKED:
        step.state.pending[key] = Present(NEVER)
    elif present is None:
        step.state.pending[key] = Present(header.recorded_at)


def _hide_sources(step: _Step, fact16: bytes, row: FactRow) -> None:
    """Leave word at every cited observation that this fact may hide it."""
    for source16 in row.sources:
        source = step.state.observation(step.header.scope, source16)
        if source is not None and (row.retractions or source.adapter == row.adapter):
            _add_hider(step, source16, fact16)


# Retractions and deletions, before and after their targets


def _arrived(step: _Step) -> tuple[Waiting, ...]:
    """What waited for this record, taken off the list; its receipts are brought up to date."""
    key = keys.waiting(step.header.record)
    waiting = step.state.waiting(step.header.record)
    if waiting is None:
        return ()
    step.state.pending[key] = None
    for item in waiting.items:
        _settle_receipt(step, item)
    return waiting.items


def _settle_receipt(step: _Step, item: Waiting) -> None:
    receipt = step.state.receipt(item.event)
    if receipt is None:
        return
    header = step.header
    if item.deletion:
        allowed = may_delete(item.adapter, item.by_operator, header.adapter)
    else:
        allowed = item.adapter == header.adapter or item.tier >= header.tier
    decision = Decision.ACCEPTED if allowed else Decision.REJECTED
    reason = Reason.NONE if allowed else Reason.NOT_AUTHORISED
    step.state.pending[keys.receipt(item.event)] = replace(
        receipt, decision=decision, reason=reason, fault=None
    )


def _apply_waiting(step: _Step, waiting: Waiting) -> None:
    row = step.state.fact(step.header.scope, step.header.record)
    assert row is not None
    mark = Mark(waiting.recorded_at, waiting.append)
    key = keys.fact(step.header.scope, step.header.record)
    if waiting.deletion:
        if may_delete(waiting.adapter, waiting.by_operator, row.adapter):
            step.state.pending[key] = replace(row, deletions=(*row.deletions, mark))
    elif outranks(waiting.adapter, waiting.tier, row):
        step.state.pending[key] = replace(row, retractions=(*row.retractions, mark))


def _wait(step: _Step, deletion: bool) -> None:
    header = step.header
    assert step.body is not None
    item = Waiting(
        deletion,
        header.adapter,
        header.tier,
        bool(header.flags & BY_OPERATOR),
        header.append_ms,
        header.recorded_at,
        step.hasher.event(header.scope, header.kind, event_id_of(step.body)),
    )
    waiting = step.state.waiting(header.target)
    items = (*waiting.items, item) if waiting else (item,)
    step.state.pending[keys.waiting(header.target)] = WaitingList(items)


def _retraction(step: _Step) -> None:
    header = step.header
    if header.decision == Decision.PARKED:
        _wait(step, deletion=False)
    elif header.decision == Decision.ACCEPTED:
        row = step.state.fact(header.scope, header.target)
        assert row is not None
        mark = Mark(header.recorded_at, header.append_ms)
        row = replace(row, retractions=(*row.retractions, mark))
        step.state.pending[keys.fact(header.scope, header.target)] = row
        _hide_sources(step, header.target, row)


def _deletion(step: _Step) -> None:
    header = step.header
    if header.decision == Decision.PARKED:
        _wait(step, deletion=True)
    elif header.decision == Decision.ACCEPTED:
        _DELETIONS[header.target_type](step)


def _deletion_of_observation(step: _Step) -> None:
    header = step.header
    _delete_observation(step, header.target, Mark(header.recorded_at, header.append_ms))
    _touch(step, header.target)


def _deletion_of_fact(step: _Step) -> None:
    header = step.header
    row = step.state.fact(header.scope, header.target)
    assert row is not None
    mark = Mark(header.recorded_at, header.append_ms)
    row = replace(row, deletions=(*row.deletions, mark))
    step.state.pending[keys.fact(header.scope, header.target)] = row
    if row.decision == Decision.PARKED or awaits(row.witnesses):
        step.due.append((row.subject, header.scope, header.target))
    _touch(step, header.target)


def _barrier(step: _Step) -> None:
    header = step.header
    assert isinstance(step.body, EventBody)
    subject = step.state.subject(header.subject)
    barrier = Barrier(header.recorded_at, step.body.cutoff_ms, header.target_type == TARGET_SCOPE)
    step.state.pending[keys.subject(header.subject)] = SubjectRow(
        (*subject.barriers, barrier), header.sequence, step.hash
    )
    prefix = keys.awaiting_in(header.subject)
    for key, _ in step.state.scan(prefix):
        rest = key[len(prefix) :]
        step.due.append((header.subject, rest[:16], rest[16:]))


_DELETIONS: dict[int, Callable[[_Step], None]] = {
    TARGET_OBSERVATION: _deletion_of_observation,
    TARGET_FACT: _deletion_of_fact,
    TARGET_SUBJECT: _barrier,
    TARGET_SCOPE: _barrier,
}


def _touch(step: _Step, record16: bytes) -> None:
    """Everything awaiting that cites a record, directly or through facts, is due for a decision."""
    seen: set[bytes] = set()
    todo = [record16]
    while todo:
        for fact16 in step.state.citing(todo.pop()):
            if fact16 in seen:
                continue
            seen.add(fact16)
            todo.append(fact16)
            row = step.state.fact(step.header.scope, fact16)
            if row is None:
                continue
            key = keys.awaiting(row.subject, step.header.scope, fact16)
            if step.state.row(key) is not None:
                step.due.append((row.subject, step.header.scope, fact16))


# Working sets, controls, and kinds whose rules are not in force yet


def _workingset(step: _Step) -> None:
    header = step.header
    if header.decision != Decision.ACCEPTED or not isinstance(step.body, EventBody):
        return
    event = msgspec.msgpack.decode(step.body.event, type=WorkingSet)
    key = keys.workingset(header.scope, header.record)
    step.state.pending[key] = WorkingSetRow(header.recorded_at, event, 0)
    if event.expires_at is not None:
        expiring = keys.expiring(event.expires_at, header.scope, header.record)
        step.state.pending[expiring] = Present(header.recorded_at)


def _control(step: _Step) -> None:
    if step.header.decision != Decision.ACCEPTED or not isinstance(step.body, EventBody):
        return
    event = msgspec.msgpack.decode(step.body.event, type=Control)
    _CONTROLS[event.control](step, event)


def _timeout(step: _Step, event: Control) -> None:
    header = step.header
    row = step.state.fact(header.scope, header.target)
    assert row is not None
    assert row.decision == Decision.PARKED
    step.state.pending[keys.fact(header.scope, header.target)] = replace(
        row, timed_out=header.recorded_at
    )
    key = keys.awaiting(row.subject, header.scope, header.target)
    step.state.pending[key] = Present(NEVER)
    if row.event is None:
        return
    event16 = step.hasher.event(header.scope, Kind.ASSERTION, row.event.envelope.event_id)
    receipt = step.state.receipt(event16)
    if receipt is not None and receipt.offset == row.offset:
        step.state.pending[keys.receipt(event16)] = replace(
            receipt, decision=Decision.QUARANTINED, reason=Reason.TIMED_OUT, fault=None
        )


def _expiry(step: _Step, event: Control) -> None:
    header, state = step.header, step.state
    if event.target_kind == "workingset":
        workingset = state.workingset(header.scope, header.target)
        assert workingset is not None
        key = keys.workingset(header.scope, header.target)
        state.pending[key] = replace(workingset, expired=header.recorded_at)
        expires_at = workingset.event.expires_at
    else:
        fact = state.fact(header.scope, header.target)
        assert fact is not None
        key = keys.fact(header.scope, header.target)
        state.pending[key] = replace(fact, expired=header.recorded_at)
        expires_at = fact.event.expires_at if fact.event else None
    if expires_at is not None:
        state.pending[keys.expiring(expires_at, header.scope, header.target)] = None


_CONTROLS: dict[str, Callable[[_Step, Control], None]] = {"timeout": _timeout, "expiry": _expiry}


def _kept(step: _Step) -> None:
    """Nothing but the receipt: the event stands in the ledger until its rules are in force."""


_FOLDS: dict[Kind, Callable[[_Step], None]] = {
    Kind.OBSERVATION: _observation,
    Kind.ASSERTION: _assertion,
    Kind.RETRACTION: _retraction,
    Kind.DELETION: _deletion,
    Kind.ASSOCIATION: _kept,
    Kind.PROCEDURE: _kept,
    Kind.OUTCOME: _kept,
    Kind.COMMITMENT: _kept,
    Kind.APPRAISAL: _kept,
    Kind.CHALLENGE: _kept,
    Kind.GRANT: _kept,
    Kind.WORKINGSET: _workingset,
    Kind.CONTROL: _control,
}
