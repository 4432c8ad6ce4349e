"""The status of an assertion, a function of what it cites (docs/semantics.md §5; I2).

Nothing here is stored: `judge` derives the status anew from the rows, so it cannot depend on the
order in which things came. Where facts rest on facts it is the least fixed point from all parked,
so a cycle never holds itself up.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from projections.rows import FactRow, Mark, ObservationRow
from projections.state import NOT_BEFORE_EVERYTHING, Reader, cutoff_of
from schemas.bodies import Check, Witness
from schemas.entry import CAP_ACCEPTED, QUOTED
from schemas.kinds import Decision, Reason


class Status(Enum):
    """What an assertion is, given everything else."""

    COVERED = "covered"
    DELETED = "deleted"
    ACCEPTED = "accepted"
    CANDIDATE = "candidate"
    PARKED = "parked"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"

    @property
    def in_force(self) -> bool:
        """Whether it is a fact, if only a candidate."""
        return self is Status.ACCEPTED or self is Status.CANDIDATE


class Horizon(msgspec.Struct, frozen=True):
    """What a view may use: evidence recorded up to one τ, marks recorded up to another.

    None is everything. The public view takes marks from the current head (I4); the audit view
    from the prefix itself. `cutoff_ms`/`blocked` are the subject's barriers within the marks.
    """

    evidence: int | None
    marks: int | None
    cutoff_ms: int
    blocked: bool

    def knows(self, recorded_at: int) -> bool:
        """Whether evidence of that τ belongs to the prefix."""
        return self.evidence is None or recorded_at <= self.evidence

    def in_effect(self, marks: tuple[Mark, ...]) -> bool:
        """Whether one of the marks was recorded in time."""
        return any(self.marks is None or mark.recorded_at <= self.marks for mark in marks)

    def retracted(self, marks: tuple[Mark, ...]) -> bool:
        """Whether a retraction is in effect and no barrier covers it."""
        return self.in_effect(tuple(m for m in marks if m.append > self.cutoff_ms))

    def covers(self, append_ms: int) -> bool:
        """Whether a barrier covers what was appended then."""
        return append_ms <= self.cutoff_ms


EVERYTHING = Horizon(None, None, NOT_BEFORE_EVERYTHING, False)


def public_horizon(reader: Reader, subject16: bytes, recorded_at: int | None) -> Horizon:
    """Evidence up to `recorded_at`, policy of the current head (I4)."""
    cutoff, blocked = cutoff_of(reader.subject(subject16))
    return Horizon(recorded_at, None, cutoff, blocked)


def audit_horizon(reader: Reader, subject16: bytes, recorded_at: int | None) -> Horizon:
    """Evidence and policy up to `recorded_at`."""
    cutoff, blocked = cutoff_of(reader.subject(subject16), recorded_at)
    return Horizon(recorded_at, recorded_at, cutoff, blocked)


class _Premise(Enum):
    PENDING = 0
    OK = 1
    GONE = 2
    FAILED = 3
    AMBIGUOUS = 4
    UNCHECKABLE = 5


_CHECKED = {
    Check.PENDING: _Premise.PENDING,
    Check.OK: _Premise.OK,
    Check.NOT_FOUND: _Premise.FAILED,
    Check.AMBIGUOUS: _Premise.AMBIGUOUS,
    Check.UNCHECKABLE: _Premise.UNCHECKABLE,
}
_DEAD = (_Premise.GONE, _Premise.FAILED, _Premise.AMBIGUOUS)


def observation_gone(row: ObservationRow, horizon: Horizon) -> bool:
    """Whether an owned observation is covered or deleted."""
    return horizon.covers(row.append) or horizon.in_effect(row.deletions)


Verdict = tuple[Status, Reason]
_WAITING: Verdict = (Status.PARKED, Reason.AWAITING_PREMISES)


def judge(
    reader: Reader, scope16: bytes, record16: bytes, row: FactRow, horizon: Horizon
) -> Verdict:
    """Status and, where it is not in force at level accepted, the reason."""
    if not any(w.on_fact for justification in row.witnesses for w in justification):
        return _judge(reader, scope16, row, horizon, {})
    return _fixed_point(reader, scope16, record16, row, horizon)[record16]


def _fixed_point(
    reader: Reader, scope16: bytes, record16: bytes, row: FactRow, horizon: Horizon
) -> dict[bytes, Verdict]:
    """Verdicts of a fact and all it rests on: from all parked, judged until nothing changes."""
    rows = {record16: row}
    todo = [row]
    while todo:
        for source16 in _cited_facts(todo.pop()):
            source = None if source16 in rows else reader.fact(scope16, source16)
            if source is not None and horizon.knows(source.recorded_at):
                rows[source16] = source
                todo.append(source)
    verdicts = dict.fromkeys(rows, _WAITING)
    changed = True
    while changed:
        changed = False
        for name, one in rows.items():
            verdict = _judge(reader, scope16, one, horizon, verdicts)
            if verdict != verdicts[name]:
                verdicts[name] = verdict
                changed = True
    return verdicts


def _cited_facts(row: FactRow) -> list[bytes]:
    witnesses = (witness for justification in row.witnesses for witness in justification)
    return [
        source16
        for witness, source16 in zip(witnesses, row.sources, strict=False)
        if witness.on_fact
    ]


def _judge(
    reader: Reader,
    scope16: bytes,
    row: FactRow,
    horizon: Horizon,
    verdicts: Mapping[bytes, Verdict],
) -> Verdict:
    """One fact, given what is known of the facts it rests on."""
    if horizon.covers(row.append):
        return Status.COVERED, Reason.BARRIER
    if horizon.in_effect(row.deletions):
        return Status.DELETED, Reason.TARGET_DELETED
    if row.decision == Decision.COVERED:
        return Status.COVERED, Reason.BARRIER
    if row.decision == Decision.DELETED:
        return Status.DELETED, Reason(row.reason)
    if not row.witnesses:
        return _without_content(reader, scope16, row, horizon)
    index = 0
    judged: list[list[tuple[Witness, _Premise]]] = []
    for justification in row.witnesses:
        premises = []
        for witness in justification:
            source16 = row.sources[index]
            index += 1
            if witness.on_fact:
                state = _on_fact(witness, verdicts.get(source16, _WAITING)[0], horizon)
            else:
                state = _on_quote(reader, scope16, source16, witness, horizon)
            premises.append((witness, state))
        judged.append(premises)
    return _resolve(row, judged)


def _without_content(reader: Reader, scope16: bytes, row: FactRow, horizon: Horizon) -> Verdict:
    """Rejected ones and parked ones whose body was destroyed: only their sources are known."""
    for source16 in row.sources:
        source = reader.observation(scope16, source16)
        if source is not None and observation_gone(source, horizon):
            return Status.DELETED, Reason.SOURCES_DELETED
    if row.decision == Decision.REJECTED:
        return Status.REJECTED, Reason(row.reason)
    return Status.PARKED, Reason.AWAITING_PREMISES


def _on_quote(
    reader: Reader, scope16: bytes, source16: bytes, witness: Witness, horizon: Horizon
) -> _Premise:
    source = reader.observation(scope16, source16)
    if source is None or not horizon.knows(source.recorded_at):
        return _Premise.PENDING
    if observation_gone(source, horizon):
        return _Premise.GONE
    if not horizon.knows(witness.recorded_at):
        return _Premise.PENDING
    return _CHECKED[Check(witness.check)]


_OF_FACT = {
    Status.PARKED: _Premise.PENDING,
    Status.COVERED: _Premise.GONE,
    Status.DELETED: _Premise.GONE,
    Status.QUARANTINED: _Premise.FAILED,
    Status.REJECTED: _Premise.FAILED,
}


def _on_fact(witness: Witness, status: Status, horizon: Horizon) -> _Premise:
    if not status.in_force:
        return _OF_FACT[status]
    checked = witness.check == Check.OK and horizon.knows(witness.recorded_at)
    return _Premise.OK if checked else _Premise.PENDING


def _resolve(row: FactRow, judged: list[list[tuple[Witness, _Premise]]]) -> Verdict:
    held = alive = grounded = False
    uncheckable = False
    for justification in judged:
        states = [state for _, state in justification]
        if any(state in _DEAD for state in states):
            continue
        if _Premise.PENDING in states:
            alive = True
            continue
        held = True
        if _Premise.UNCHECKABLE in states:
            uncheckable = True
        elif any(not witness.on_fact for witness, _ in justification):
            grounded = True
    if held:
        if not row.flags & CAP_ACCEPTED:
            return Status.CANDIDATE, Reason.TIER
        if grounded:
            return Status.ACCEPTED, Reason.NONE
        return Status.CANDIDATE, Reason.UNCHECKABLE_QUOTE if uncheckable else Reason.FACTS_ONLY
    if alive:
        return Status.PARKED, Reason.AWAITING_PREMISES
    states = [state for justification in judged for _, state in justification]
    if _Premise.GONE in states:
        return Status.DELETED, Reason.SOURCES_DELETED
    if _Premise.FAILED in states:
        on_quote = any(
            state is _Premise.FAILED and not witness.on_fact
            for justification in judged
            for witness, state in justification
        )
        return Status.QUARANTINED, Reason.QUOTE_NOT_FOUND if on_quote else Reason.PREMISE_FAILED
    if _Premise.PENDING in states:
        return Status.PARKED, Reason.AWAITING_PREMISES
    return Status.REJECTED, Reason.AMBIGUOUS_QUOTE


def may_supersede(row: FactRow, status: Status) -> bool:
    """Whether an assertion counts as a superseder (docs/semantics.md §6)."""
    counts = CAP_ACCEPTED | QUOTED
    return row.flags & counts == counts and status in (Status.ACCEPTED, Status.DELETED)


def outranks(adapter: bytes, tier: int, target: FactRow) -> bool:
    """Whether an author may retract or supersede a fact: its own, or of a tier not below."""
    return adapter == target.adapter or tier >= target.tier
