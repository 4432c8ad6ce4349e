"""One entry on its way into the state, and what several kinds do with it.

A `Step` collects changes on an overlay and the assertions that are due for a decision. The helpers
here leave word where it will be looked for: hiders at observations, texts in the index, what waits
for a target under that target's hash.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from projections import keys
from projections.lexical_rows import index_documents
from projections.rows import (
    Document,
    FactRow,
    Mark,
    Waiting,
    WaitingList,
)
from projections.state import Overlay
from schemas.bodies import (
    Body,
    event_id_of,
)
from schemas.entry import (
    BY_OPERATOR,
    Header,
)
from schemas.kinds import Decision, Reason
from schemas.sealing import Hasher

Due = tuple[bytes, bytes, bytes]


NEVER = 2**63 - 1


class Step(NamedTuple):
    """One entry on its way into the state."""

    state: Overlay
    header: Header
    hash: bytes
    body: Body | None
    hasher: Hasher
    due: list[Due]


def may_delete(adapter: bytes, by_operator: bool, owner: bytes) -> bool:
    """A record is deleted by its own adapter or an operator (SPEC §4)."""
    return by_operator or adapter == owner


def delete_observation(step: Step, record16: bytes, mark: Mark) -> None:
    """Mark an owned observation as deleted."""
    key = keys.observation(step.header.scope, record16)
    row = step.state.observation(step.header.scope, record16)
    assert row is not None
    step.state.pending[key] = replace(row, deletions=(*row.deletions, mark))


def add_hider(step: Step, record16: bytes, fact16: bytes) -> None:
    """Leave word at an observation that a fact may hide it."""
    row = step.state.observation(step.header.scope, record16)
    if row is not None and fact16 not in row.hiders:
        key = keys.observation(step.header.scope, record16)
        step.state.pending[key] = replace(row, hiders=(*row.hiders, fact16))


def hide_sources(step: Step, fact16: bytes, row: FactRow) -> None:
    """Leave word at every cited observation that this fact may hide it."""
    for source16 in row.sources:
        source = step.state.observation(step.header.scope, source16)
        if source is not None and (row.retractions or source.adapter == row.adapter):
            add_hider(step, source16, fact16)


def add_document(step: Step, fact: bool, text: str) -> int:
    """Append a searchable text to the scope and return its ordinal."""
    scope16 = step.header.scope
    head = step.state.head(scope16)
    ordinal = head.documents
    record = Document(fact, step.header.record, text)
    step.state.pending[keys.document(scope16, ordinal)] = record
    step.state.pending[keys.head(scope16)] = replace(head, documents=ordinal + 1)
    index_documents(step.state, scope16, ordinal + 1)
    return ordinal


def arrived(step: Step) -> tuple[Waiting, ...]:
    """What waited for this record, taken off the list; its receipts are brought up to date."""
    key = keys.waiting(step.header.record)
    waiting = step.state.waiting(step.header.record)
    if waiting is None:
        return ()
    step.state.pending[key] = None
    for item in waiting.items:
        _settle_receipt(step, item)
    return waiting.items


def _settle_receipt(step: Step, item: Waiting) -> None:
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


def wait_for_target(step: Step, deletion: bool) -> None:
    """Keep a retraction or deletion until its target comes."""
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


def touch(step: Step, record16: bytes, *, further: bool = True) -> None:
    """Everything awaiting that cites a record, `further` also through facts, is due."""
    seen: set[bytes] = set()
    todo = [record16]
    while todo:
        for fact16 in step.state.citing(todo.pop()):
            if fact16 in seen:
                continue
            seen.add(fact16)
            if further:
                todo.append(fact16)
            row = step.state.fact(step.header.scope, fact16)
            if row is None:
                continue
            key = keys.awaiting(row.subject, step.header.scope, fact16)
            if step.state.row(key) is not None:
                step.due.append((row.subject, step.header.scope, fact16))
