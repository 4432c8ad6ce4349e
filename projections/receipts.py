"""Receipts: what became of an event, kept under its event id (INTERFACE "receipt").

The first taken event of an id keeps the receipt; only a refusal that freed everything is replaced.
A repeat is answered with the first's entry, marked `duplicate`. Nothing is kept under the ids of
events that were not authentic or not granted: they could overwrite others'.
"""

from __future__ import annotations

from msgspec.structs import replace

from projections import keys
from projections.rows import ReceiptRow
from projections.state import Overlay
from projections.step import Step
from schemas.bodies import Body, RefusedBody, event_id_of
from schemas.entry import MOVES_HEAD, NO_FOLLOW_UP, NONE16, Header
from schemas.kinds import Decision, Reason

FREEING = frozenset({Reason.INVALID, Reason.ROLE_REQUIRED, Reason.IDEMPOTENCY_CONFLICT})


def scope_sequence(state: Overlay, header: Header) -> int:
    """How many entries have changed the scope, barriers over all its branches included."""
    subject = state.subject(header.subject)
    return state.head(header.scope).count + len(subject.barriers)


def write_receipt(step: Step) -> ReceiptRow:
    """Record and return the receipt of the event that an entry decides."""
    state, header = step.state, step.header
    row = _receipt(state, header, step.hash, step.body)
    if header.decision == Decision.DUPLICATE:
        row = _of_first(state, header, row)
    if step.event16 == NONE16:
        return row
    old = state.receipt(step.event16)
    if (
        old is None
        or old.reason in FREEING
        or (header.follows != NO_FOLLOW_UP and old.offset == header.offset)
    ):
        state.put(keys.receipt(step.event16), row)
    return row


def _receipt(state: Overlay, header: Header, entry_hash: bytes, body: Body | None) -> ReceiptRow:
    return ReceiptRow(
        event_id=event_id_of(body) if body is not None else "",
        kind=header.kind,
        decision=header.decision,
        reason=header.reason,
        fault=body.fault if isinstance(body, RefusedBody) else None,
        sequence=header.sequence,
        hash=entry_hash,
        recorded_at=header.recorded_at,
        scope_sequence=scope_sequence(state, header) if header.flags & MOVES_HEAD else None,
        topic=header.topic,
        partition=header.partition,
        offset=header.offset,
    )


def _of_first(state: Overlay, header: Header, row: ReceiptRow) -> ReceiptRow:
    used = state.used(header.idempotency)
    first = state.receipt(used.event) if used is not None else None
    if first is None:
        return row
    return replace(first, event_id=row.event_id, decision=Decision.DUPLICATE)
