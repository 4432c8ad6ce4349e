"""From rows to answers: an allow-list of what each may show (INTERFACE "Answers").

Quotes are cut from the source at the time of asking, by span, and only from sources that are still
there: no copy of them exists to be left behind (I2, §10).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from projections.rows import FactRow, ObservationRow, ReceiptRow
from projections.state import Reader
from projections.support import Horizon, Status, observation_gone
from projections.view import Member
from schemas import answers
from schemas.bodies import Check, Witness
from schemas.events import Observation
from schemas.intervals import Bound
from schemas.kinds import RECEIPT_STATE, Decision, Kind, Reason, Tier
from schemas.normalise import normalise_key
from schemas.reasons import explain
from schemas.scope import pack, pack_scope
from schemas.times import format_instant
from schemas.values import json_value


def fact_answer(
    reader: Reader,
    scope16: bytes,
    row: FactRow,
    horizon: Horizon,
    status: str,
    superseder: Member | None,
) -> answers.Fact:
    """A fact with its evidence; `status` as the view found it."""
    event = row.event
    assert event is not None
    return answers.Fact(
        fact_id=event.fact_id,
        entity=event.entity,
        attribute=event.attribute,
        value=json_value(event.value),
        type=event.value.type,
        valid_from=format_instant(event.valid_from),
        valid_to=None if event.valid_to is None else format_instant(event.valid_to),
        recorded_at=format_instant(row.decided_at),
        status=status,
        confidence=event.confidence,
        asserted_by=asserted_by(row),
        evidence=evidence(reader, scope16, row, horizon),
        supersedes=event.supersedes,
        superseded_by=superseded_by(superseder),
    )


def superseded_by(superseder: Member | None) -> str | None:
    """A fact id, or `deleted` where the superseder was deleted."""
    if superseder is None:
        return None
    if superseder.status is Status.DELETED or superseder.row.event is None:
        return "deleted"
    return superseder.event.fact_id


def asserted_by(row: FactRow) -> answers.AssertedBy:
    """Who is answerable for an assertion."""
    assert row.event is not None
    envelope = row.event.envelope
    return answers.AssertedBy(
        adapter=envelope.adapter,
        tier=Tier(row.tier).word,
        actor=envelope.actor.id,
        role=envelope.actor.role,
        derivation=row.event.derivation.kind,
    )


def evidence(
    reader: Reader, scope16: bytes, row: FactRow, horizon: Horizon
) -> tuple[answers.Evidence, ...]:
    """The quotes that stand, each once, in the order in which they were given."""
    witnesses = [witness for justification in row.witnesses for witness in justification]
    found: dict[tuple[str, int, int], answers.Evidence] = {}
    for witness, source16 in zip(witnesses, row.sources, strict=True):
        if witness.on_fact or witness.check != Check.OK or not horizon.knows(witness.recorded_at):
            continue
        source = reader.observation(scope16, source16)
        if source is None or source.event is None or observation_gone(source, horizon):
            continue
        item = _evidence(witness, source.event)
        found.setdefault((item.observation, item.start or 0, item.end or 0), item)
    return tuple(found.values())


def _evidence(witness: Witness, source: Observation) -> answers.Evidence:
    content = (source.content or "").encode()
    return answers.Evidence(
        observation=witness.source,
        quote=content[witness.start : witness.end].decode(),
        start=witness.start,
        end=witness.end,
        occurred_at=format_instant(source.envelope.occurred_at),
        actor=source.envelope.actor.id,
    )


def episode_answer(row: ObservationRow) -> answers.Episode:
    """An observation as testimony."""
    event = row.event
    assert event is not None
    reference = event.content_ref
    return answers.Episode(
        event_id=event.envelope.event_id,
        content=event.content,
        content_ref=None
        if reference is None
        else answers.ContentReference(
            uri=reference.uri, sha256=reference.sha256, bytes=reference.bytes
        ),
        media_type=event.media_type,
        occurred_at=format_instant(event.envelope.occurred_at),
        recorded_at=format_instant(row.recorded_at),
        actor=event.envelope.actor.id,
        role=event.envelope.actor.role,
        sensitivity=event.sensitivity,
    )


def conflict_answer(
    reader: Reader,
    scope16: bytes,
    sides: Sequence[FactRow],
    fact_ids: Sequence[str],
    overlap: tuple[int, Bound],
    horizon: Horizon,
) -> answers.Conflict:
    """The given sides of a conflict by fact id; its own id follows from scope, key and all ids."""
    events = [row.event for row in sides if row.event is not None]
    first = min(events, key=lambda event: event.fact_id)
    key = (normalise_key(first.entity), normalise_key(first.attribute))
    said = pack(*key, *sorted(fact_ids))
    digest = hashlib.sha256(pack_scope(first.envelope.scope) + said).digest()
    shown = [fact_answer(reader, scope16, row, horizon, "disputed", None) for row in sides]
    start, end = overlap
    return answers.Conflict(
        conflict_id="c-" + base64.b32encode(digest[:15]).decode().lower(),
        entity=first.entity,
        attribute=first.attribute,
        sides=tuple(sorted(shown, key=lambda side: side.fact_id)),
        overlap=answers.Overlap(
            from_=format_instant(start), to=None if end is None else format_instant(end)
        ),
    )


def receipt_answer(row: ReceiptRow, token: str) -> answers.Receipt:
    """A receipt in the interface's words."""
    state = RECEIPT_STATE[Decision(row.decision)]
    return answers.Receipt(
        event_id=row.event_id or None,
        kind=Kind(row.kind).word,
        token=token,
        state=state,
        reason=reason_answer(row),
        entry=answers.EntryRef(
            scope_sequence=row.scope_sequence,
            hash=row.hash.hex(),
            recorded_at=format_instant(row.recorded_at),
        ),
    )


def reason_answer(row: ReceiptRow) -> answers.Reason | None:
    """Why: the fault that was recorded, else the words for the reason code."""
    fault = row.fault or explain(Reason(row.reason))
    if fault is None or row.decision == Decision.DUPLICATE:
        return None
    return answers.Reason(
        code=fault.code, field=fault.field, detail=fault.detail, remedy=fault.remedy
    )
