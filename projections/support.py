"""The status of an assertion, a function of what it cites (docs/semantics.md §5; I2).

Nothing here is stored: `judge` derives the status anew from the rows, so it cannot depend on the
order in which things came. Where facts rest on facts it is the least fixed point from all parked,
so a cycle never holds itself up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

import msgspec

from projections.rows import FactRow, Mark, ObservationRow
from projections.state import NOT_BEFORE_EVERYTHING, Reader, cutoff_of
from schemas.bodies import Check, Witness
from schemas.entry import CAP_ACCEPTED, QUOTED
from schemas.errors import StoreDamaged
from schemas.kinds import Decision, Reason


class Status(IntEnum):
    """What an assertion is, given everything else."""

    COVERED = 0
    DELETED = 1
    ACCEPTED = 2
    CANDIDATE = 3
    PARKED = 4
    QUARANTINED = 5
    REJECTED = 6

    @property
    def word(self) -> str:
        """The status in the words of answers."""
        return self.name.lower()

    @property
    def in_force(self) -> bool:
        """Whether it is a fact, if only a candidate."""
        return self is Status.ACCEPTED or self is Status.CANDIDATE


class Horizon(msgspec.Struct, frozen=True, gc=False):
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

    def marked(self, recorded_at: int) -> bool:
        """Whether something of that τ counts for what a status is."""
        return self.marks is None or recorded_at <= self.marks

    def in_effect(self, marks: tuple[Mark, ...]) -> bool:
        """Whether one of the marks was recorded in time."""
        return any(self.marked(mark.recorded_at) for mark in marks)

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


class _Premise(IntEnum):
    PENDING = 0
    OK = 1
    GONE = 2
    FAILED = 3
    AMBIGUOUS = 4
    UNCHECKABLE = 5


_CHECKED: dict[int, _Premise] = {
    Check.PENDING: _Premise.PENDING,
    Check.OK: _Premise.OK,
    Check.NOT_FOUND: _Premise.FAILED,
    Check.AMBIGUOUS: _Premise.AMBIGUOUS,
    Check.UNCHECKABLE: _Premise.UNCHECKABLE,
}
_OF_FACT = {
    Status.PARKED: _Premise.PENDING,
    Status.ACCEPTED: _Premise.OK,
    Status.CANDIDATE: _Premise.OK,
    Status.COVERED: _Premise.GONE,
    Status.DELETED: _Premise.GONE,
    Status.QUARANTINED: _Premise.FAILED,
    Status.REJECTED: _Premise.FAILED,
}
_DEAD = (_Premise.GONE, _Premise.FAILED, _Premise.AMBIGUOUS)


def observation_gone(row: ObservationRow, horizon: Horizon) -> bool:
    """Whether an owned observation is covered or deleted."""
    return horizon.covers(row.append) or horizon.in_effect(row.deletions)


class Verdict(NamedTuple):
    """Status, reason (`NONE` at level accepted), and since which τ (µs) the grounds are there.

    `grounded_at` is the earliest τ at which some grounded justification had all of its premises;
    None if there is no such justification.
    """

    status: Status
    reason: Reason
    grounded_at: int | None = None


_WAITING = Verdict(Status.PARKED, Reason.AWAITING_PREMISES)


class _Cited(msgspec.Struct, frozen=True, gc=False):
    """A premise: its state and since when it is there, or the fact that decides both."""

    state: _Premise
    recorded_at: int
    fact: bytes | None


class _Case(msgspec.Struct, frozen=True, gc=False):
    """What a fact's verdict follows from: already certain, or its justifications."""

    row: FactRow
    certain: Verdict | None
    justifications: tuple[tuple[_Cited, ...], ...]
    rests_on: tuple[bytes, ...]


def judge(
    reader: Reader, scope16: bytes, record16: bytes, row: FactRow, horizon: Horizon
) -> tuple[Status, Reason]:
    """Status and reason of one fact as of the horizon's marks."""
    case = _case(reader, scope16, row, horizon, True)
    if not case.rests_on:
        return _verdict(case, {}, {})[:2]
    return judge_all(reader, scope16, {record16: row}, horizon)[record16][:2]


def judge_all(
    reader: Reader, scope16: bytes, rows: Mapping[bytes, FactRow], horizon: Horizon
) -> dict[bytes, Verdict]:
    """Verdicts of facts and of all that they rest on, in the order in which they were reached.

    As of the horizon's marks, so a historical view judges by what is known now (I4); whether the
    grounds were there in the prefix is `grounded_at`. A verdict only ever moves up (parked, in
    force or refused, gone), so each is reached in few steps, however facts rest on each other. A
    fact that was not given and whose last entry is parked is parked: admission settles at once
    what an entry touches.
    """
    cases = _cases(reader, scope16, rows, horizon)
    followers: dict[bytes, list[bytes]] = {}
    for name, case in cases.items():
        for source16 in case.rests_on:
            followers.setdefault(source16, []).append(name)
    verdicts = dict.fromkeys(cases, _WAITING)
    todo = deque(cases)
    queued = set(cases)
    while todo:
        name = todo.popleft()
        queued.discard(name)
        verdict = _verdict(cases[name], cases, verdicts)
        old = verdicts.pop(name)
        verdicts[name] = verdict
        if verdict.status is not old.status:
            again = [follower for follower in followers.get(name, ()) if follower not in queued]
            todo.extend(again)
            queued.update(again)
    return verdicts


def _cases(
    reader: Reader, scope16: bytes, rows: Mapping[bytes, FactRow], horizon: Horizon
) -> dict[bytes, _Case]:
    """The given facts and all that they rest on, sources first where there are no cycles."""
    opened: dict[bytes, _Case | None] = {}
    cases: dict[bytes, _Case] = {}
    todo = list(rows)
    while todo:
        name = todo[-1]
        if name not in opened:
            row = rows.get(name) or reader.fact(scope16, name)
            known = row is not None and horizon.marked(row.recorded_at)
            opened[name] = case = (
                _case(reader, scope16, row, horizon, name in rows) if row and known else None
            )
            if case is not None:
                todo += [source16 for source16 in case.rests_on if source16 not in opened]
            continue
        todo.pop()
        done = opened[name]
        if done is not None:
            cases[name] = done
    return cases


def _case(reader: Reader, scope16: bytes, row: FactRow, horizon: Horizon, given: bool) -> _Case:
    certain = _certain(row, horizon)
    if certain is None and not given and row.decision == Decision.PARKED:
        certain = _WAITING
    if certain is not None:
        return _Case(row, certain, (), ())
    if row.witnesses:
        justifications = _premises(reader, scope16, row, horizon)
    else:
        justifications = (_without_words(reader, scope16, row, horizon),)
    facts = dict.fromkeys(c.fact for cited in justifications for c in cited if c.fact is not None)
    return _Case(row, None, justifications, tuple(facts))


def _premises(
    reader: Reader, scope16: bytes, row: FactRow, horizon: Horizon
) -> tuple[tuple[_Cited, ...], ...]:
    sources = iter(row.sources)  # one a premise, in order
    return tuple(
        tuple(_cited(reader, scope16, next(sources), witness, horizon) for witness in justification)
        for justification in row.witnesses
    )


def _certain(row: FactRow, horizon: Horizon) -> Verdict | None:
    """What needs no look at the premises."""
    if horizon.covers(row.append):
        return Verdict(Status.COVERED, Reason.BARRIER)
    if horizon.in_effect(row.deletions):
        return Verdict(Status.DELETED, Reason.TARGET_DELETED)
    if horizon.marks is not None and not 0 < row.decided_at <= horizon.marks:
        return _WAITING
    if row.decision == Decision.COVERED:
        return Verdict(Status.COVERED, Reason.BARRIER)
    if row.decision == Decision.DELETED:
        return Verdict(Status.DELETED, Reason(row.reason))
    return None


def _without_words(
    reader: Reader, scope16: bytes, row: FactRow, horizon: Horizon
) -> tuple[_Cited, ...]:
    """Premises of a fact whose content is not kept: of its sources only whether they are gone."""
    refused = row.decision == Decision.REJECTED
    premises = [_Cited(_Premise.AMBIGUOUS if refused else _Premise.PENDING, 0, None)]
    for source16 in row.sources:
        observation = reader.observation(scope16, source16)
        if observation is None or not horizon.marked(observation.recorded_at):
            premises.append(_on_fact(source16))
        elif observation_gone(observation, horizon):
            premises.append(_Cited(_Premise.GONE, 0, None))
    return tuple(premises)


def _cited(
    reader: Reader, scope16: bytes, source16: bytes, witness: Witness, horizon: Horizon
) -> _Cited:
    if witness.on_fact:
        return _on_fact(source16)
    source = reader.observation(scope16, source16)
    if source is None and witness.check != Check.PENDING:
        raise StoreDamaged(f"observation {source16.hex()}")
    if source is None or not horizon.marked(source.recorded_at):
        return _Cited(_Premise.PENDING, 0, None)
    if observation_gone(source, horizon):
        return _Cited(_Premise.GONE, 0, None)
    if not horizon.marked(witness.recorded_at):
        return _Cited(_Premise.PENDING, 0, None)
    return _Cited(_CHECKED[witness.check], witness.recorded_at, None)


def _on_fact(source16: bytes) -> _Cited:
    return _Cited(_Premise.PENDING, 0, source16)


def _verdict(
    case: _Case, cases: Mapping[bytes, _Case], verdicts: Mapping[bytes, Verdict]
) -> Verdict:
    """One fact, given what is known of the facts it rests on: the first of §5's list."""
    if case.certain is not None:
        return case.certain
    held = alive = uncheckable = False
    grounds: list[int] = []
    for cited in case.justifications:
        states = [_state(premise, verdicts) for premise in cited]
        if any(state in _DEAD for state in states):
            continue
        if _Premise.PENDING in states:
            alive = True
            continue
        held = True
        if _Premise.UNCHECKABLE in states:
            uncheckable = True
        elif any(premise.fact is None for premise in cited):
            grounds.append(max(_recorded(premise, cases) for premise in cited))
    if held:
        return _in_force(case.row, grounds, uncheckable)
    if alive:
        return _WAITING
    return _refused(case, verdicts)


def _state(premise: _Cited, verdicts: Mapping[bytes, Verdict]) -> _Premise:
    if premise.fact is None:
        return premise.state
    return _OF_FACT[verdicts.get(premise.fact, _WAITING).status]


def _recorded(premise: _Cited, cases: Mapping[bytes, _Case]) -> int:
    return premise.recorded_at if premise.fact is None else cases[premise.fact].row.decided_at


def _in_force(row: FactRow, grounds: list[int], uncheckable: bool) -> Verdict:
    if not row.flags & CAP_ACCEPTED:
        return Verdict(Status.CANDIDATE, Reason.TIER)
    if grounds:
        return Verdict(Status.ACCEPTED, Reason.NONE, min(grounds))
    reason = Reason.UNCHECKABLE_QUOTE if uncheckable else Reason.FACTS_ONLY
    return Verdict(Status.CANDIDATE, reason)


def _refused(case: _Case, verdicts: Mapping[bytes, Verdict]) -> Verdict:
    """No justification can hold any more; which premise says why."""
    premises = [premise for cited in case.justifications for premise in cited]
    states = {_state(premise, verdicts) for premise in premises}
    if _Premise.GONE in states:
        return Verdict(Status.DELETED, Reason.SOURCES_DELETED)
    if _Premise.FAILED in states:
        by_quote = any(premise.state is _Premise.FAILED for premise in premises)
        reason = Reason.QUOTE_NOT_FOUND if by_quote else Reason.PREMISE_FAILED
        return Verdict(Status.QUARANTINED, reason)
    if _Premise.PENDING in states:
        return _WAITING
    return Verdict(Status.REJECTED, Reason.AMBIGUOUS_QUOTE)


def may_supersede(row: FactRow, status: Status) -> bool:
    """Whether an assertion counts as a superseder (docs/semantics.md §6)."""
    counts = CAP_ACCEPTED | QUOTED
    return row.flags & counts == counts and status in (Status.ACCEPTED, Status.DELETED)


def outranks(adapter: bytes, tier: int, target: FactRow) -> bool:
    """Whether an author may retract or supersede a fact: its own, or of a tier not below."""
    return adapter == target.adapter or tier >= target.tier
