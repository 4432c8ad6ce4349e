"""The fold: `evolve` puts what an entry changes on an overlay, one function a kind (SPEC §3). Pure.

Reads no clock, no randomness, no network: what was decided is in the entry. Rows gain marks and are
never judged here; what a status *is* stands in `support`, what is public in `view`. A body that is
gone (erased) leaves the header, which is enough to keep ids owned, keys held, targets deleted and
superseders in force.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from projections import keys
from projections.fold_assertions import awaits, fold_assertion
from projections.fold_observations import fold_observation
from projections.receipts import write_receipt
from projections.rows import (
    Barrier,
    EntryRow,
    HeadRow,
    Mark,
    Present,
    ReceiptRow,
    SubjectRow,
    Used,
    WorkingSetRow,
)
from projections.state import Overlay
from projections.step import (
    NEVER,
    Due,
    Step,
    delete_observation,
    hide_sources,
    touch,
    wait_for_target,
)
from schemas.bodies import (
    Body,
    EventBody,
    event_id_of,
)
from schemas.entry import (
    MOVES_HEAD,
    NONE16,
    TARGET_FACT,
    TARGET_OBSERVATION,
    TARGET_SCOPE,
    TARGET_SUBJECT,
    Entry,
)
from schemas.events import Control, WorkingSet
from schemas.kinds import Decision, Kind, Reason
from schemas.sealing import Hasher


class Evolution(msgspec.Struct, frozen=True, gc=False):
    """The (subject, scope, fact) whose premises one entry touched, and its receipt."""

    due: list[Due]
    receipt: ReceiptRow


def evolve(
    state: Overlay, entry: Entry, body: Body | None, offset: int, hasher: Hasher
) -> Evolution:
    """Fold one entry that extends the head into `state`. `body` None means that it was erased."""
    header = entry.header
    event16 = NONE16
    if body is not None and header.scope != NONE16:
        event16 = hasher.event(header.scope, header.kind, event_id_of(body))
    step = Step(state, header, entry.hash, body, hasher, event16, [])
    _advance(step, offset)
    _hold_key(step)
    _FOLDS[header.kind](step)
    receipt = write_receipt(step)
    return Evolution(step.due, receipt)


def _advance(step: Step, offset: int) -> None:
    header, state = step.header, step.state
    at = state.at
    at.count = header.sequence + 1
    at.hash = step.hash
    at.recorded_at = header.recorded_at
    at.next_offset = offset + 1
    if header.topic and at.positions[header.topic] <= header.offset:
        at.positions[header.topic] = header.offset + 1
    state.put(keys.entry(header.sequence), EntryRow(offset, step.hash))
    if header.flags & MOVES_HEAD and header.target_type not in (TARGET_SUBJECT, TARGET_SCOPE):
        head = state.head(header.scope)
        state.put_head(
            header.scope,
            HeadRow(head.count + 1, header.sequence, step.hash, header.recorded_at, head.documents),
        )


def _hold_key(step: Step) -> None:
    header = step.header
    if header.idempotency == NONE16 or header.decision == Decision.DUPLICATE:
        return
    key = keys.idempotency(header.idempotency)
    used = step.state.used(header.idempotency)
    if used is None or used.event == NONE16:
        step.state.put(key, Used(header.content, step.event16))


def _retraction(step: Step) -> None:
    header = step.header
    if header.decision == Decision.PARKED:
        wait_for_target(step, deletion=False)
    elif header.decision == Decision.ACCEPTED:
        row = step.state.fact(header.scope, header.target)
        assert row is not None
        mark = Mark(header.recorded_at, header.append_ms)
        row = replace(row, retractions=(*row.retractions, mark))
        step.state.put(keys.fact(header.scope, header.target), row)
        hide_sources(step, header.target, row)


def _deletion(step: Step) -> None:
    header = step.header
    if header.decision == Decision.PARKED:
        wait_for_target(step, deletion=True)
    elif header.decision == Decision.ACCEPTED:
        _DELETIONS[header.target_type](step)


def _deletion_of_observation(step: Step) -> None:
    header = step.header
    delete_observation(step, header.target, Mark(header.recorded_at, header.append_ms))
    touch(step, header.target)


def _deletion_of_fact(step: Step) -> None:
    header = step.header
    row = step.state.fact(header.scope, header.target)
    assert row is not None
    mark = Mark(header.recorded_at, header.append_ms)
    row = replace(row, deletions=(*row.deletions, mark))
    step.state.put(keys.fact(header.scope, header.target), row)
    if row.decision == Decision.PARKED or awaits(row.witnesses):
        step.due.append((row.subject, header.scope, header.target))
    touch(step, header.target)


def _barrier(step: Step) -> None:
    header = step.header
    assert isinstance(step.body, EventBody)
    subject = step.state.subject(header.subject)
    barrier = Barrier(header.recorded_at, step.body.cutoff_ms, header.target_type == TARGET_SCOPE)
    step.state.put(
        keys.subject(header.subject),
        SubjectRow((*subject.barriers, barrier), header.sequence, step.hash),
    )
    prefix = keys.awaiting_in(header.subject)
    for key, _ in step.state.scan(prefix):
        rest = key[len(prefix) :]
        step.due.append((header.subject, rest[:16], rest[16:]))


_DELETIONS: dict[int, Callable[[Step], None]] = {
    TARGET_OBSERVATION: _deletion_of_observation,
    TARGET_FACT: _deletion_of_fact,
    TARGET_SUBJECT: _barrier,
    TARGET_SCOPE: _barrier,
}


def _workingset(step: Step) -> None:
    header = step.header
    if header.decision != Decision.ACCEPTED or not isinstance(step.body, EventBody):
        return
    event = msgspec.msgpack.decode(step.body.event, type=WorkingSet)
    key = keys.workingset(header.scope, header.record)
    step.state.put(key, WorkingSetRow(header.recorded_at, event, 0))
    if event.expires_at is not None:
        expiring = keys.expiring(event.expires_at, header.scope, header.record)
        step.state.put(expiring, Present(header.recorded_at))


def _control(step: Step) -> None:
    if step.header.decision != Decision.ACCEPTED or not isinstance(step.body, EventBody):
        return
    event = msgspec.msgpack.decode(step.body.event, type=Control)
    _CONTROLS[event.control](step, event)


def _timeout(step: Step, event: Control) -> None:
    header = step.header
    row = step.state.fact(header.scope, header.target)
    assert row is not None
    assert row.decision == Decision.PARKED
    step.state.put(
        keys.fact(header.scope, header.target), replace(row, timed_out=header.recorded_at)
    )
    key = keys.awaiting(row.subject, header.scope, header.target)
    step.state.put(key, Present(NEVER))
    if row.event is None:
        return
    event16 = step.hasher.event(header.scope, Kind.ASSERTION, row.event.envelope.event_id)
    receipt = step.state.receipt(event16)
    if receipt is not None and receipt.offset == row.offset:
        timed_out = replace(
            receipt, decision=Decision.QUARANTINED, reason=Reason.TIMED_OUT, fault=None
        )
        step.state.put(keys.receipt(event16), timed_out)


def _expiry(step: Step, event: Control) -> None:
    header, state = step.header, step.state
    if event.target_kind == "workingset":
        workingset = state.workingset(header.scope, header.target)
        assert workingset is not None
        key = keys.workingset(header.scope, header.target)
        state.put(key, replace(workingset, expired=header.recorded_at))
        expires_at = workingset.event.expires_at
    else:
        fact = state.fact(header.scope, header.target)
        assert fact is not None
        key = keys.fact(header.scope, header.target)
        state.put(key, replace(fact, expired=header.recorded_at))
        expires_at = fact.event.expires_at if fact.event else None
    if expires_at is not None:
        state.put(keys.expiring(expires_at, header.scope, header.target), None)


_CONTROLS: dict[str, Callable[[Step, Control], None]] = {"timeout": _timeout, "expiry": _expiry}


def _kept(step: Step) -> None:
    """Nothing but the receipt: the event stands in the ledger until its rules are in force."""


_FOLDS: dict[int, Callable[[Step], None]] = {
    Kind.OBSERVATION: fold_observation,
    Kind.ASSERTION: fold_assertion,
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
