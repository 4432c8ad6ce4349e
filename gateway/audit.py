"""The audit's entries: a scope's part of the ledger, as headers and bodies tell it (SPEC §5).

Read from the ledger itself, not from a projection. What was erased leaves its header.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import msgspec

from gateway.asked import Asked
from gateway.backend import Backend
from gateway.paging import Item, SortKey, Standings
from schemas import answers
from schemas.bodies import AssertionBody, Body, EventBody, ObservationBody, event_id_of
from schemas.entry import MOVES_HEAD, TARGET_SCOPE, TARGET_SUBJECT, Entry
from schemas.kinds import Decision, Kind, Reason
from schemas.times import format_instant
from schemas.topics import TopicNames

_TOPICS = TopicNames()


def audit_entries(backend: Backend, asked: Asked, after: SortKey) -> Iterable[Item]:
    """Entries of the asked scope, and barriers over it, up to the horizon; made as they are asked.

    The ledger is read while others write: nothing before an entry ever changes but its body, which
    may go.
    """
    count = 0
    for entry, body in backend.entries(asked.partition):
        header = entry.header
        if not asked.horizon.knows(header.recorded_at):
            return
        over_all = header.target_type in (TARGET_SUBJECT, TARGET_SCOPE)
        if header.scope != asked.scope and not (over_all and header.subject == asked.subject):
            continue
        moved = bool(header.flags & MOVES_HEAD)
        count += moved
        key = (header.sequence, b"")
        if key > after:
            answer = _answer(entry, body, count if moved else None)
            yield Item(key, partial(_made, answer))


def _made(answer: answers.AuditEntry, _: Standings) -> answers.AuditEntry:
    return answer


def _answer(entry: Entry, body: Body | None, scope_sequence: int | None) -> answers.AuditEntry:
    header = entry.header
    kind = Kind(header.kind)
    return answers.AuditEntry(
        scope_sequence=scope_sequence,
        hash=entry.hash.hex(),
        recorded_at=format_instant(header.recorded_at),
        kind=kind.word,
        decision=Decision(header.decision).name.lower(),
        reason=Reason(header.reason).code or None,
        event_id=None if body is None else event_id_of(body),
        record_id=_record_id(body),
        adapter=_adapter(body),
        topic=_TOPICS.intake[kind],
        appended_at=format_instant(header.append_ms * 1000),
        policy_version=header.policy.hex(),
        schema_version=str(header.schema),
        normaliser_version=header.normaliser,
    )


def _record_id(body: Body | None) -> str | None:
    if isinstance(body, ObservationBody):
        return body.event.envelope.event_id
    if isinstance(body, AssertionBody):
        return body.event.fact_id
    return None


def _adapter(body: Body | None) -> str | None:
    if isinstance(body, ObservationBody | AssertionBody):
        return body.event.envelope.adapter
    if isinstance(body, EventBody):
        (envelope, *_) = msgspec.msgpack.decode(body.event)
        return str(envelope[2])
    return None
