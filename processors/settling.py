"""Settling: further entries for assertions whose premises came, went or were checked (§5).

Rules
- All that one event touched is judged together, as one least fixed point, so it does not matter in
  which order assertions that rest on each other are taken up.
- A parked assertion that is decided leaves a second entry. One in force leaves a further one when a
  premise that was pending is checked, or when words that it awaits must go; such an entry may
  change a view (a fact that falls goes on suppressing its target), so it moves the scope's head.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from processors.assertions import cap_reason, checked, entry_of, on_fact, without_awaited
from processors.draft import Draft, Place
from projections.rows import FactRow
from projections.state import Reader
from projections.step import Due
from projections.support import Status, Verdict, judge_all, public_horizon
from schemas.bodies import AssertionBody, Check, Witness, Witnesses
from schemas.entry import MOVES_HEAD
from schemas.kinds import Decision, Kind, Reason, Tier
from schemas.policy import Policy


def judge_due(due: Iterable[Due], state: Reader, now: int) -> list[tuple[Due, Verdict]]:
    """What is due with its verdict, sources before what follows from them."""
    wanted: dict[tuple[bytes, bytes], dict[bytes, Due]] = {}
    for one in due:
        subject16, scope16, fact16 = one
        wanted.setdefault((subject16, scope16), {})[fact16] = one
    judged = []
    for (subject16, scope16), facts in wanted.items():
        rows = {
            fact16: replace(row, witnesses=_bind_again(row, scope16, state, now))
            for fact16 in facts
            if (row := state.fact(scope16, fact16)) is not None and row.event is not None
        }
        horizon = public_horizon(state, subject16, None)
        verdicts = judge_all(state, scope16, rows, horizon)
        judged += [(facts[name], verdicts[name]) for name in verdicts if name in rows]
    return judged


def settle(due: Due, verdict: Verdict, state: Reader, policy: Policy, now: int) -> Draft | None:
    """A further entry for an assertion, or None if nothing is new."""
    _, scope16, record16 = due
    row = state.fact(scope16, record16)
    if row is None or row.event is None:
        return None
    body = AssertionBody(row.event, _bind_again(row, scope16, state, now), row.risks)
    draft = Draft(
        place=Place(Kind.ASSERTION, row.partition, row.offset, row.append),
        decision=Decision.PARKED,
        reason=Reason.AWAITING_PREMISES,
        body=body,
        flags=row.flags & ~MOVES_HEAD,
        tier=Tier(row.tier),
        follows=row.sequence,
        scope=scope16,
        subject=row.subject,
        record=record16,
        supersedes=row.supersedes,
        entity_attribute=row.entity_attribute,
        idempotency=row.idempotency,
        content=row.content,
        adapter=row.adapter,
        sources=row.sources,
    )
    status = verdict.status
    reason = cap_reason(draft, status, verdict.reason, policy)
    if row.decision != Decision.PARKED:
        return _amended(draft, body, row, status, reason)
    return None if status is Status.PARKED else entry_of(draft, body, status, reason)


def _amended(
    draft: Draft, body: AssertionBody, row: FactRow, status: Status, reason: Reason
) -> Draft | None:
    """A fact in force whose other premises were checked, or whose awaited words must go."""
    witnesses = body.witnesses
    if status.in_force:
        entry = entry_of(draft, body, status, reason)
        same = (entry.decision, entry.reason) == (row.decision, row.reason)
        return None if same and witnesses == row.witnesses else entry
    if status is not Status.PARKED:
        witnesses = without_awaited(witnesses)
    if witnesses == row.witnesses:
        return None
    draft.decision, draft.reason = Decision(row.decision), Reason(row.reason)
    draft.body = replace(body, witnesses=witnesses)
    draft.flags |= MOVES_HEAD
    return draft


def _bind_again(row: FactRow, scope16: bytes, state: Reader, now: int) -> Witnesses:
    """Judge the premises that were pending; the others stand as they were checked."""
    index = 0
    justifications = []
    for justification in row.witnesses:
        witnesses = []
        for witness in justification:
            source16 = row.sources[index]
            index += 1
            if witness.check == Check.PENDING:
                witness = _again(witness, scope16, source16, state, now)
            elif row.decision == Decision.PARKED:
                witness = replace(witness, recorded_at=now)
            witnesses.append(witness)
        justifications.append(tuple(witnesses))
    return tuple(justifications)


def _again(witness: Witness, scope16: bytes, source16: bytes, state: Reader, now: int) -> Witness:
    if witness.on_fact:
        return on_fact(witness.source, scope16, source16, state, now)
    source = state.observation(scope16, source16)
    if source is None or witness.awaited is None:
        return witness
    return checked(witness, source, now)
