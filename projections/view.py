"""What is public: supersession, conflict, episodes (docs/semantics.md §6 to §8; I2, I3, I4).

A view is computed from the rows at the time of asking and never stored, so no stale copy can bring
back what was retracted or deleted. One (entity, attribute) is judged at a time: `Group`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from projections import keys
from projections.rows import FactRow, ObservationRow
from projections.state import Reader
from projections.support import (
    Horizon,
    Status,
    Verdict,
    judge,
    judge_all,
    may_supersede,
    observation_gone,
    outranks,
)
from schemas.bodies import Check
from schemas.entry import CAP_ACCEPTED, NONE16
from schemas.events import Assertion
from schemas.intervals import Bound, breakpoints, earlier, holds
from schemas.kinds import Reason
from schemas.normalise import normalise_key, value_key
from schemas.policy import Policy


class Member(msgspec.Struct, frozen=True):
    """A fact of a group: judged once for a horizon, valid over [start, end) in µs.

    `eligible` leaves valid time out: in force at level accepted by grounds of the prefix, neither
    retracted nor blocked.
    """

    record: bytes
    row: FactRow
    status: Status
    reason: Reason
    retracted: bool
    eligible: bool
    start: int
    end: Bound

    @property
    def event(self) -> Assertion:
        """The assertion; only for members whose content is kept."""
        assert self.row.event is not None
        return self.row.event

    def holds(self, t: int) -> bool:
        """Whether it is eligible and valid at `t`."""
        return self.eligible and holds(self.start, self.end, t)


class Conflict(msgspec.Struct, frozen=True):
    """Unsuperseded facts of one single-valued key with unequal values, and where just they meet."""

    sides: tuple[Member, ...]
    start: int
    end: Bound


class Standing(NamedTuple):
    """How a group stands at one instant: public facts, or the conflict, and who supersedes whom."""

    public: tuple[Member, ...]
    conflict: tuple[Member, ...]
    superseded: dict[bytes, Member]


class Group:
    """All facts of one (scope, entity, attribute) under a horizon and a policy."""

    def __init__(
        self, reader: Reader, scope16: bytes, attribute16: bytes, horizon: Horizon, policy: Policy
    ) -> None:
        self.policy = policy
        rows = {
            record16: row
            for record16, row in reader.group(scope16, attribute16)
            if row.decided_at and horizon.knows(row.decided_at)
        }
        verdicts = judge_all(reader, scope16, rows, horizon)
        self.members = {
            record16: _member(record16, row, verdicts[record16], horizon)
            for record16, row in rows.items()
        }
        self._edges = _valid_edges(self.members)
        self._superseders: dict[bytes, list[Member]] = {}
        for record16, target16 in self._edges.items():
            self._superseders.setdefault(target16, []).append(self.members[record16])

    def invalid_edges(self) -> list[bytes]:
        """Facts whose `supersedes` names a fact of this group and yet is not valid."""
        return [
            record16
            for record16, member in self.members.items()
            if member.row.supersedes != NONE16 and record16 not in self._edges
        ]

    def superseder(self, member: Member, t: int) -> Member | None:
        """The fact that suppresses a member at `t`; None if there is none.

        Of several the one valid from the latest instant, ties by fact id, a deleted one last: a
        choice that does not depend on the order in which they came.
        """
        rivals = self._superseders.get(member.record, ())
        holding = [g for g in rivals if g.holds(t)]
        if holding:
            return max(holding, key=lambda g: (g.start, g.event.fact_id))
        return next((g for g in rivals if _suppresses_always(g)), None)

    def at(self, t: int) -> Standing:
        """The group at one instant."""
        superseded: dict[bytes, Member] = {}
        standing = []
        for member in self.members.values():
            if not member.holds(t):
                continue
            by = self.superseder(member, t)
            if by is None:
                standing.append(member)
            else:
                superseded[member.record] = by
        if self._clash(standing):
            return Standing((), tuple(standing), superseded)
        return Standing(tuple(standing), (), superseded)

    def _clash(self, standing: list[Member]) -> bool:
        if len(standing) < 2:
            return False
        attribute = normalise_key(standing[0].event.attribute)
        if not self.policy.single_valued(attribute):
            return False
        fold = self.policy.fold_values
        return len({value_key(member.event.value, fold) for member in standing}) > 1

    def instants(self) -> list[int]:
        """Breakpoints: evaluating at each of them evaluates at every instant."""
        return breakpoints((m.start, m.end) for m in self.members.values() if m.eligible)

    def public_ever(self) -> list[Member]:
        """Members that are public at some instant, in order of record."""
        found = {m.record: m for t in self.instants() for m in self.at(t).public}
        return list(found.values())

    def conflicts(self) -> list[Conflict]:
        """Every conflict set with the widest interval on which it is that same set."""
        found: list[Conflict] = []
        points = self.instants()
        for index, t in enumerate(points):
            sides = self.at(t).conflict
            if not sides:
                continue
            end = points[index + 1] if index + 1 < len(points) else None
            last = found[-1] if found else None
            if last is not None and last.end == t and _same(last.sides, sides):
                found[-1] = Conflict(last.sides, last.start, end)
            else:
                found.append(Conflict(sides, t, end))
        return found

    def conflict_at(self, t: int) -> Conflict | None:
        """The conflict set at one instant, if there is one."""
        for conflict in self.conflicts():
            if holds(conflict.start, conflict.end, t):
                return conflict
        return None


def _same(one: tuple[Member, ...], other: tuple[Member, ...]) -> bool:
    return {m.record for m in one} == {m.record for m in other}


def _suppresses_always(superseder: Member) -> bool:
    """A deleted superseder has lost its interval, not its effect (unless it was retracted)."""
    return superseder.status is Status.DELETED and not superseder.retracted


def _member(record16: bytes, row: FactRow, verdict: Verdict, horizon: Horizon) -> Member:
    retracted = horizon.retracted(row.retractions)
    grounded = verdict.grounded_at is not None and horizon.knows(verdict.grounded_at)
    eligible = grounded and not retracted and not horizon.blocked
    start, end = 0, None
    if row.event is not None:
        start, end = row.event.valid_from, earlier(row.event.valid_to, row.event.expires_at)
    return Member(record16, row, verdict.status, verdict.reason, retracted, eligible, start, end)


def _valid_edges(members: dict[bytes, Member]) -> dict[bytes, bytes]:
    """Admitted edges that lie on no cycle (each fact has at most one)."""
    edges = {}
    for record16, member in members.items():
        target = members.get(member.row.supersedes)
        if (
            target is not None
            and target.status is not Status.COVERED
            and may_supersede(member.row, member.status)
            and outranks(member.row.adapter, member.row.tier, target.row)
        ):
            edges[record16] = member.row.supersedes
    cyclic = _on_cycles(edges)
    return {a: b for a, b in edges.items() if a not in cyclic}


def _on_cycles(edges: dict[bytes, bytes]) -> set[bytes]:
    """Nodes of a functional graph that lie on a cycle; each node is walked once."""
    walk_of: dict[bytes, int] = {}
    cyclic: set[bytes] = set()
    for walk, start in enumerate(edges):
        path = []
        node = start
        while node in edges and node not in walk_of:
            walk_of[node] = walk
            path.append(node)
            node = edges[node]
        if walk_of.get(node) == walk and node in path:
            cyclic.update(path[path.index(node) :])
    return cyclic


def group_of(
    reader: Reader, scope16: bytes, row: FactRow, horizon: Horizon, policy: Policy
) -> Group:
    """The group that a fact belongs to."""
    return Group(reader, scope16, row.entity_attribute, horizon, policy)


def groups(
    reader: Reader, scope16: bytes, horizon: Horizon, policy: Policy
) -> Iterator[tuple[bytes, Group]]:
    """Every group of a scope by its hash, in hash order."""
    prefix = keys.groups(scope16)
    seen: bytes | None = None
    for key, _ in reader.scan(prefix):
        attribute16 = key[len(prefix) : len(prefix) + 16]
        if attribute16 != seen:
            seen = attribute16
            yield attribute16, Group(reader, scope16, attribute16, horizon, policy)


def episode_visible(
    reader: Reader,
    scope16: bytes,
    record16: bytes,
    row: ObservationRow,
    horizon: Horizon,
    policy: Policy,
) -> bool:
    """Whether an observation is testimony (docs/semantics.md §8)."""
    if horizon.blocked or row.event is None or not horizon.knows(row.recorded_at):
        return False
    if observation_gone(row, horizon):
        return False
    return not any(
        _hides(reader, scope16, fact16, record16, row, horizon, policy) for fact16 in row.hiders
    )


def _hides(
    reader: Reader,
    scope16: bytes,
    fact16: bytes,
    record16: bytes,
    observation: ObservationRow,
    horizon: Horizon,
    policy: Policy,
) -> bool:
    fact = reader.fact(scope16, fact16)
    if fact is None or not horizon.marked(fact.recorded_at):
        return False
    status, _ = judge(reader, scope16, fact16, fact, horizon)
    if status is Status.QUARANTINED:
        return policy.quarantine_hides and fact.adapter == observation.adapter
    if not horizon.retracted(fact.retractions) or not fact.flags & CAP_ACCEPTED:
        return False
    if status is Status.DELETED:
        return True
    return status is Status.ACCEPTED and record16 in _sources_held(fact)


def _sources_held(fact: FactRow) -> Iterable[bytes]:
    """Hashes of the observations whose quotes were found in them."""
    witnesses = [witness for justification in fact.witnesses for witness in justification]
    for witness, source16 in zip(witnesses, fact.sources, strict=True):
        if not witness.on_fact and witness.check == Check.OK:
            yield source16
