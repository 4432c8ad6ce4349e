"""Folding observations: an owned id, perhaps with content; what waited for it strikes now."""

from __future__ import annotations

from msgspec.structs import replace

from projections import keys
from projections.rows import (
    FactRow,
    Mark,
    ObservationRow,
)
from projections.step import (
    Step,
    add_document,
    add_hider,
    arrived,
    delete_observation,
    may_delete,
    touch,
)
from schemas.bodies import (
    ObservationBody,
)
from schemas.entry import (
    NONE16,
)
from schemas.kinds import Decision

_OBSERVED = (Decision.ACCEPTED, Decision.COVERED, Decision.DELETED)


def fold_observation(step: Step) -> None:
    """Fold an observation and everything that waited for it."""
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
        row = replace(row, ordinal=add_document(step, False))
    state.put(keys.observation(header.scope, header.record), row)
    for waiting in arrived(step):
        if waiting.deletion and may_delete(waiting.adapter, waiting.by_operator, header.adapter):
            delete_observation(step, header.record, Mark(waiting.recorded_at, waiting.append))
    for fact16 in state.citing(header.record):
        fact = state.fact(header.scope, fact16)
        if fact is not None and (fact.retractions or _quarantined_by(fact, header.adapter)):
            add_hider(step, header.record, fact16)
    touch(step, header.record)


def _quarantined_by(fact: FactRow, adapter: bytes) -> bool:
    return fact.decision == Decision.QUARANTINED and fact.adapter == adapter
