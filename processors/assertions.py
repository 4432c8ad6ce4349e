"""Assertions: binding quotes to sources, and deciding (I2; docs/semantics.md §5).

`bind` judges every premise against the sources that are there; `checked_decision` turns the status
that `projections.support` derives into an entry. Containment proves where a quote is from, not that
it entails the claim. What had to wait is taken up again in `settling`.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from processors.draft import Draft
from projections.rows import FactRow, ObservationRow
from projections.state import Reader
from projections.support import Status, judge, public_horizon
from schemas.bodies import AssertionBody, Check, RefusedBody, Witness, Witnesses
from schemas.entry import CAP_ACCEPTED, MOVES_HEAD, QUOTED
from schemas.errors import Fault
from schemas.events import Assertion, Premise
from schemas.kinds import Decision, Kind, Reason, Tier
from schemas.policy import Policy
from schemas.sealing import Hasher, quote_digest


class Bound(msgspec.Struct, frozen=True, gc=False):
    """Judged premises and, one a premise in order, the hashes of their sources."""

    witnesses: Witnesses
    sources: tuple[bytes, ...]


def flags_of(event: Assertion, tier: Tier, policy: Policy) -> int:
    """What the header must remember of an assertion's standing."""
    flags = 0
    if policy.cap(tier, event.derivation.kind) == Decision.ACCEPTED:
        flags |= CAP_ACCEPTED
    if any(p.observation is not None for j in event.justifications for p in j):
        flags |= QUOTED
    return flags


def without_words(event: Assertion) -> Assertion:
    """The assertion without its justifications: those are stored as witnesses."""
    return replace(event, justifications=())


def bind(event: Assertion, scope16: bytes, state: Reader, hasher: Hasher, now: int) -> Bound:
    """Judge each premise; those whose source has not come keep their words."""
    sources: list[bytes] = []
    justifications = []
    for justification in event.justifications:
        witnesses = []
        for premise in justification:
            if premise.fact is not None:
                source16 = hasher.fact(scope16, premise.fact)
                witness = on_fact(premise.fact, scope16, source16, state, now)
            else:
                assert premise.observation is not None
                source16 = hasher.observation(scope16, premise.observation)
                witness = _on_quote(premise, scope16, source16, state, now)
            sources.append(source16)
            witnesses.append(witness)
        justifications.append(tuple(witnesses))
    return Bound(tuple(justifications), tuple(sources))


def on_fact(fact_id: str, scope16: bytes, source16: bytes, state: Reader, now: int) -> Witness:
    """A premise on a fact; checked once that fact is more than parked."""
    row = state.fact(scope16, source16)
    check, recorded_at, source_hash = Check.PENDING, 0, None
    if row is not None and row.decision != Decision.PARKED:
        check, recorded_at, source_hash = Check.OK, now, row.hash
    return Witness(True, fact_id, check, None, None, recorded_at, source_hash, None, None)


def _on_quote(
    premise: Premise, scope16: bytes, source16: bytes, state: Reader, now: int
) -> Witness:
    assert premise.observation is not None
    assert premise.quote is not None
    pending = Witness(
        False,
        premise.observation,
        Check.PENDING,
        premise.start,
        premise.end,
        0,
        None,
        None,
        premise.quote,
    )
    row = state.observation(scope16, source16)
    return pending if row is None else checked(pending, row, now)


def checked(witness: Witness, row: ObservationRow, now: int) -> Witness:
    """A pending witness after its source has come: span and digest instead of words."""
    assert witness.awaited is not None
    check, start, end = find_quote(row, witness.awaited, witness.start, witness.end)
    holds = check is Check.OK
    return replace(
        witness,
        check=check,
        start=start,
        end=end,
        recorded_at=now,
        source_hash=row.hash,
        digest=quote_digest(row.quote_key, witness.awaited.encode()) if holds else None,
        awaited=None,
    )


def find_quote(
    row: ObservationRow, quote: str, start: int | None, end: int | None
) -> tuple[Check, int | None, int | None]:
    """Where a quote stands in an observation: (check, start, end) in bytes of UTF-8.

    Without a span it must occur exactly once, overlapping occurrences counted.
    """
    if row.event is None or row.event.content is None:
        return Check.UNCHECKABLE, start, end
    content, words = row.event.content.encode(), quote.encode()
    if start is not None and end is not None:
        stands = bool(words) and content[start:end] == words and end <= len(content)
        return (Check.OK if stands else Check.NOT_FOUND), start, end
    first = content.find(words) if words else -1
    if first < 0:
        return Check.NOT_FOUND, None, None
    if content.find(words, first + 1) >= 0:
        return Check.AMBIGUOUS, None, None
    return Check.OK, first, first + len(words)


def checked_decision(draft: Draft, state: Reader, policy: Policy) -> Draft:
    """Complete a draft whose body is an `AssertionBody` with the decision its premises allow."""
    assert isinstance(draft.body, AssertionBody)
    row = _as_row(draft)
    horizon = public_horizon(state, draft.subject, None)
    status, reason = judge(state, draft.scope, draft.record, row, horizon)
    return entry_of(draft, draft.body, status, cap_reason(draft, status, reason, policy))


def cap_reason(draft: Draft, status: Status, reason: Reason, policy: Policy) -> Reason:
    """The reason, or which part of the policy makes it only a candidate."""
    if status is not Status.CANDIDATE or draft.flags & CAP_ACCEPTED:
        return reason
    assert isinstance(draft.body, AssertionBody)
    return policy.cap_reason(draft.tier, draft.body.event.derivation.kind)


def _as_row(draft: Draft) -> FactRow:
    assert isinstance(draft.body, AssertionBody)
    return FactRow(
        sequence=0,
        recorded_at=0,
        decided_at=0,
        append=draft.place.append_ms,
        partition=draft.place.partition,
        offset=draft.place.offset,
        decision=Decision.PARKED,
        reason=0,
        flags=draft.flags,
        tier=draft.tier,
        adapter=draft.adapter,
        subject=draft.subject,
        key_id=b"",
        event=draft.body.event,
        witnesses=draft.body.witnesses,
        risks=(),
        sources=draft.sources,
        supersedes=draft.supersedes,
        entity_attribute=draft.entity_attribute,
        idempotency=draft.idempotency,
        content=draft.content,
        retractions=(),
        deletions=(),
        timed_out=0,
        expired=0,
        ordinal=-1,
        hash=b"",
    )


def entry_of(draft: Draft, kept: AssertionBody, status: Status, reason: Reason) -> Draft:
    """The draft as the status demands; content is dropped where it is not kept."""
    decision = _DECISION[status]
    body: AssertionBody | RefusedBody = kept
    if status is Status.QUARANTINED:
        body = replace(kept, witnesses=without_awaited(kept.witnesses))
    elif status not in (Status.ACCEPTED, Status.CANDIDATE, Status.PARKED):
        event_id = kept.event.envelope.event_id
        body = RefusedBody(event_id, Kind.ASSERTION, _fault(status, reason))
    moves = status not in (Status.PARKED, Status.REJECTED, Status.COVERED)
    draft.decision, draft.reason, draft.body = decision, reason, body
    if moves:
        draft.flags |= MOVES_HEAD
    return draft


_DECISION = {
    Status.ACCEPTED: Decision.ACCEPTED,
    Status.CANDIDATE: Decision.CANDIDATE,
    Status.PARKED: Decision.PARKED,
    Status.QUARANTINED: Decision.QUARANTINED,
    Status.REJECTED: Decision.REJECTED,
    Status.DELETED: Decision.DELETED,
    Status.COVERED: Decision.COVERED,
}


def without_awaited(witnesses: Witnesses) -> Witnesses:
    """Witnesses that keep no words of sources that have not come."""
    return tuple(
        tuple(replace(witness, awaited=None) for witness in justification)
        for justification in witnesses
    )


def _fault(status: Status, reason: Reason) -> Fault | None:
    if status is not Status.REJECTED:
        return None
    return Fault(
        reason.code,
        "justifications",
        "the quote stands more than once in its source",
        "give start and end, in bytes of the source's UTF-8",
    )
