"""One entry on its way into the state, and what several kinds do with it.

A `Step` collects changes on an overlay and the assertions that are due for a decision. The helpers
here leave word where it will be looked for: hiders at observations, texts in the index, what waits
for a target under that target's hash.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from projections import keys
from projections.lexical_rows import index_documents
from projections.rows import (
    Document,
    FactList,
    FactRow,
    HeadRow,
    Links,
    Mark,
    Waiting,
)
from projections.state import Overlay
from schemas.bodies import Body
from schemas.entry import (
    BY_OPERATOR,
    Header,
)
from schemas.kinds import Decision, Reason
from schemas.sealing import Hasher

Due = tuple[bytes, bytes, bytes]


NEVER = 2**63 - 1


CHUNK = 64  # facts in one row of citations


class Step(msgspec.Struct, frozen=True):
    """One entry on its way into the state; `event16` is its event's receipt hash, if known."""

    state: Overlay
    header: Header
    hash: bytes
    body: Body | None
    hasher: Hasher
    event16: bytes
    due: list[Due]


def may_delete(adapter: bytes, by_operator: bool, owner: bytes) -> bool:
    """A record is deleted by its own adapter or an operator (SPEC §4)."""
    return by_operator or adapter == owner


def delete_observation(step: Step, record16: bytes, mark: Mark) -> None:
    """Mark an owned observation as deleted."""
    key = keys.observation(step.header.scope, record16)
    row = step.state.observation(step.header.scope, record16)
    assert row is not None
    step.state.put(key, replace(row, deletions=(*row.deletions, mark)))


def add_hider(step: Step, record16: bytes, fact16: bytes) -> None:
    """Leave word at an observation that a fact may hide it."""
    row = step.state.observation(step.header.scope, record16)
    if row is not None and fact16 not in row.hiders:
        key = keys.observation(step.header.scope, record16)
        step.state.put(key, replace(row, hiders=(*row.hiders, fact16)))


def hide_sources(step: Step, fact16: bytes, row: FactRow) -> None:
    """Leave word at every cited observation that this fact may hide it."""
    for source16 in row.sources:
        source = step.state.observation(step.header.scope, source16)
        if source is not None and (row.retractions or source.adapter == row.adapter):
            add_hider(step, source16, fact16)


def add_document(step: Step, fact: bool) -> int:
    """Append a searchable text to the scope and return its ordinal."""
    state, scope16 = step.state, step.header.scope
    head = state.head(scope16)
    ordinal = head.documents
    state.put(keys.document(scope16, ordinal), Document(fact, step.header.record))
    state.put_head(
        scope16,
        HeadRow(head.count, head.sequence, head.hash, head.recorded_at, ordinal + 1),
    )
    index_documents(state, scope16, ordinal + 1)
    return ordinal


def cite(step: Step, source16: bytes) -> None:
    """Leave word at a record that this entry's fact cites it."""
    links = step.state.links(source16)
    facts, chunks = (*links.facts, step.header.record), links.chunks
    if len(facts) == CHUNK:
        step.state.put(keys.citations(source16, chunks), FactList(facts))
        facts, chunks = (), chunks + 1
    step.state.put(keys.links(source16), Links(links.waiting, facts, chunks))


def arrived(step: Step) -> tuple[Waiting, ...]:
    """What waited for this record, taken off the list; its receipts are brought up to date."""
    links = step.state.links(step.header.record)
    if not links.waiting:
        return ()
    kept = Links((), links.facts, links.chunks) if links.facts or links.chunks else None
    step.state.put(keys.links(step.header.record), kept)
    for item in links.waiting:
        _settle_receipt(step, item)
    return links.waiting


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
    settled = replace(receipt, decision=decision, reason=reason, fault=None)
    step.state.put(keys.receipt(item.event), settled)


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
        step.event16,
    )
    links = step.state.links(header.target)
    step.state.put(
        keys.links(header.target), Links((*links.waiting, item), links.facts, links.chunks)
    )


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
