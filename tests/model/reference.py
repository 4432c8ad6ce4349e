"""The reference model: consume records in any interleaving of the topics, then ask (§7–§10).

Nothing is kept but the list of consumed records; every answer is worked out anew from it (the one
concession is that the world of a prefix is computed once). A record is a dict:

    {"kind", "offset" (in its kind's topic), "append_ms", "adapter" (name),
     "event" (INTERFACE "Events" with every default filled in; times as RFC 3339 or integer µs),
     "filled" (optional: names of the fields that a receiver filled in)}

A control that times out names its fact as deletions do: {"control": "timeout", "target": {"fact"}}.
Kinds without rules yet need an envelope only and have no effect. Recorded time is the step of
consumption, from 1; `upto` = n asks for the view at recorded time n, None for everything.

Where the page leaves a choice:
- a fact is *recorded* at the first step at which it is not parked;
- a justification's *witnesses* are the sources of all its premises, facts included (else what was
  a candidate at τq would be shown as public then, by a premise that came later);
- the audit view at τq is what the public view was at τq: all of it derived from that prefix;
- release says `unsupported` of an id that is free, parked, rejected or recorded after τq, `deleted`
  of a covered fact and of every id in a blocked subject; of several ids, the first reason in §9's
  order that fits any of them; a fact that expired is `outside_valid_time`;
- a time-out does not wait: it changes the receipt of a fact that is parked when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.model import normaliser
from tests.model.receipts import verdict
from tests.model.rules import (
    MULTI_VALUED,
    Adapter,
    Fact,
    Policy,
    Record,
    Scope,
    Verdict,
    World,
    justifications,
    key_of,
    scope_of,
)

__all__ = ["ANY", "MULTI_VALUED", "REASONS", "Adapter", "Conflict", "Model", "Policy", "scope_of"]

ANY = "any"
When = int | str
Interval = tuple[int, int | None]
Conflict = tuple[str, str, frozenset[str], Interval]
TIMES = ("occurred_at", "valid_from", "valid_to", "expires_at")
REASONS = (
    "unsupported", "deleted", "retracted", "mismatch",
    "outside_valid_time", "not_public", "superseded", "conflicting",
)  # fmt: skip


class Model:
    """Every public answer as a function of the records consumed so far."""

    def __init__(
        self,
        adapters: Mapping[str, Adapter],
        policy: Policy | None = None,
        rules: type[World] = World,
    ) -> None:
        self.adapters = adapters
        self.policy = policy or Policy()
        self.rules = rules
        self.records: list[Record] = []
        self._worlds: dict[int, World] = {}

    def consume(self, record: Record) -> int:
        """Take the next record and return its step; records of one topic come in its order."""
        topic, offset = _place(record)
        if any(_place(r)[0] == topic and _place(r)[1] >= offset for r in self.records):
            raise ValueError(f"{topic} {offset} comes out of its topic's order")
        self.records.append(_in_micros(record))
        return len(self.records)

    def world(self, upto: int | None = None) -> World:
        """The rules over the records consumed up to a step."""
        n = len(self.records) if upto is None else min(upto, len(self.records))
        if n not in self._worlds:
            self._worlds[n] = self.rules(tuple(self.records[:n]), self.adapters, self.policy)
        return self._worlds[n]

    # Receipts

    def receipt(self, step: int, upto: int | None = None) -> Verdict:
        """(state, reason code or "") of the record consumed at a step, as known later."""
        last = len(self.records) if upto is None else upto
        found = verdict(self.world(last), step - 1)
        timed_out = any(
            self._times_out(self.records[later], self.records[step - 1])
            and verdict(self.world(later), step - 1)[0] == "parked"
            and self.world(later + 1).stopped[later] is None
            for later in range(step, last)
        )
        return ("quarantined", "timed_out") if timed_out and found[0] == "parked" else found

    def receipt_state(self, record: Record) -> tuple[Verdict, Verdict]:
        """A consumed record's receipt when it was consumed, and now."""
        step = [_place(r) for r in self.records].index(_place(record)) + 1
        return self.receipt(step, step), self.receipt(step)

    @staticmethod
    def _times_out(control: Record, record: Record) -> bool:
        return (
            control["kind"] == "control"
            and record["kind"] == "assertion"
            and control["event"]["control"] == "timeout"
            and control["event"]["target"] == {"fact": record["event"]["fact_id"]}
            and scope_of(control) == scope_of(record)
        )

    # §7: eligible, superseded, in conflict, public

    def recorded(self, name: Fact) -> int | None:
        """The first step at which a fact was not parked."""
        for step in range(1, len(self.records) + 1):
            if self.world(step).statuses.get(name, "parked") != "parked":
                return step
        return None

    def known(self, name: Fact, upto: int | None) -> bool:
        """Whether a fact was recorded by a step."""
        recorded = None if upto is None else self.recorded(name)
        return upto is None or (recorded is not None and recorded <= upto)

    def sound(self, name: Fact, upto: int | None) -> bool:
        """Eligible but for valid time."""
        world = self.world()
        return (
            world.statuses.get(name) == "accepted"
            and not world.retracted(name)
            and self.known(name, upto)
            and any(self._witnessed(name[0], premises, upto) for premises in world.grounds[name])
        )

    def _witnessed(self, scope: Scope, premises: list[Record], upto: int | None) -> bool:
        seen = self.world(upto).observations
        return all(
            self.known((scope, premise["fact"]), upto)
            if "fact" in premise
            else (scope, premise["observation"]) in seen
            for premise in premises
        )

    def holds(self, name: Fact, t: int) -> bool:
        """Whether a fact's valid time holds t and it has not expired."""
        event = self.world().assertions[name]["event"]
        ends = [end for end in (event["valid_to"], event["expires_at"]) if end is not None]
        return bool(event["valid_from"] <= t) and all(t < end for end in ends)

    def eligible(self, name: Fact, t: int, upto: int | None = None) -> bool:
        """Whether a fact may be public at t if nothing stands against it."""
        return self.sound(name, upto) and self.holds(name, t)

    def valid_edges(self, scope: Scope, upto: int | None = None) -> set[tuple[Fact, Fact]]:
        """§6: the admitted edges over the facts known at a step that lie on no cycle."""
        known = {name for name in self._facts(scope) if self.known(name, upto)}
        admitted = {edge for edge in self.world().admitted if known.issuperset(edge)}
        return {(name, target) for name, target in admitted if not _reaches(target, name, admitted)}

    def superseded_by(
        self, scope: Scope, fact_id: str, t: int, upto: int | None = None
    ) -> frozenset[str]:
        """The ids of the facts that supersede this one at t; "deleted" for a deleted one."""
        world = self.world()
        found = set()
        for superseder, target in self.valid_edges(scope, upto):
            if target != (scope, fact_id):
                continue
            if self.eligible(superseder, t, upto):
                found.add(superseder[1])
            if world.statuses[superseder] == "deleted" and not world.retracted(superseder):
                found.add("deleted")
        return frozenset(found)

    def unsuperseded(self, scope: Scope, t: int, upto: int | None = None) -> set[Fact]:
        """The eligible facts at t that none supersedes."""
        return {
            name
            for name in self._facts(scope)
            if self.eligible(name, t, upto) and not self.superseded_by(scope, name[1], t, upto)
        }

    def _disputed(self, scope: Scope, t: int, upto: int | None) -> dict[tuple[str, str], set[Fact]]:
        """The sides of each conflict at t, by normalised key."""
        assertions = self.world().assertions
        standing = self.unsuperseded(scope, t, upto)
        sides: dict[tuple[str, str], set[Fact]] = {}
        for name in standing:
            sides.setdefault(key_of(assertions[name]), set()).add(name)
        return {
            key: names
            for key, names in sides.items()
            if key[1] not in self.policy.multi_valued
            and len({_value(assertions[name]["event"]) for name in names}) > 1
        }

    def public_facts(self, scope: Scope, t: When, upto: int | None = None) -> frozenset[str]:
        """The ids of the public facts at t (µs or ANY) and recorded time `upto`."""
        disputed = self._disputed
        return frozenset(
            name[1]
            for moment in self._moments(scope, t)
            for name in self.unsuperseded(scope, moment, upto)
            if not any(name in sides for sides in disputed(scope, moment, upto).values())
        )

    def conflicts(self, scope: Scope, t: When, upto: int | None = None) -> frozenset[Conflict]:
        """The conflicts at t: (entity, attribute, fact ids, overlap), keys normalised."""
        return frozenset(
            (*key, frozenset(name[1] for name in sides), self._overlap(key, sides, moment, upto))
            for moment in self._moments(scope, t)
            for key, sides in self._disputed(scope, moment, upto).items()
        )

    def _overlap(
        self, key: tuple[str, str], sides: set[Fact], t: int, upto: int | None
    ) -> Interval:
        """The widest interval around t on which exactly these facts of the key stand."""
        scope = next(iter(sides))[0]
        assertions = self.world().assertions
        rivals = {name for name in self._facts(scope) if key_of(assertions[name]) == key}
        points = self.instants(scope)

        def same(moment: int) -> bool:
            return self.unsuperseded(scope, moment, upto) & rivals == sides

        before = [point for point in points if point <= t]
        after = [point for point in points if point > t]
        start = before[-1]
        for point in reversed(before):
            if not same(point):
                break
            start = point
        return start, next((point for point in after if not same(point)), None)

    def instants(self, scope: Scope) -> list[int]:
        """Every instant at which any answer of a scope can change, sorted."""
        events = [self.world().assertions[name]["event"] for name in self._facts(scope)]
        fields = ("valid_from", "valid_to", "expires_at")
        return sorted({event[field] for event in events for field in fields} - {None})

    def _moments(self, scope: Scope, t: When) -> list[int]:
        return self.instants(scope) if isinstance(t, str) else [t]

    def _facts(self, scope: Scope) -> list[Fact]:
        """The facts of a scope; none in a blocked one, whatever was read before or after."""
        if self.world().blocked(scope):
            return []
        return [name for name in self.world().assertions if name[0] == scope]

    # Statuses, §8 episodes, §9 release, §10 audit

    def status(self, scope: Scope, fact_id: str) -> str:
        """§5's word, or `blocked` in a deleted scope, or `absent`."""
        if self.world().blocked(scope):
            return "blocked"
        return self.world().statuses.get((scope, fact_id), "absent")

    def retracted(self, scope: Scope, fact_id: str) -> bool:
        """Whether a fact is effectively retracted."""
        return not self.world().blocked(scope) and self.world().retracted((scope, fact_id))

    def episodes(self, scope: Scope, upto: int | None = None) -> frozenset[str]:
        """§8: the ids of the observations that are testimony."""
        world = self.world()
        if world.blocked(scope):
            return frozenset()
        return frozenset(
            name[1]
            for name, record in world.observations.items()
            if name[0] == scope
            and name in self.world(upto).observations
            and not world.covered(record)
            and not world.deleted("observation", name)
            and not any(self._silences(fact, name, record) for fact in self._facts(scope))
        )

    def _silences(self, fact: Fact, source: Fact, observation: Record) -> bool:
        """Whether a fact, quarantined or retracted, takes an observation out of testimony."""
        world = self.world()
        assertion, status = world.assertions[fact], world.statuses[fact]
        on_it = [
            found
            for premises, outcome in zip(
                justifications(assertion), world.premises(assertion, world.statuses), strict=True
            )
            for premise, found in zip(premises, outcome, strict=True)
            if premise.get("observation") == source[1]
        ]
        if status == "quarantined" and assertion["adapter"] == observation["adapter"]:
            return on_it != []
        if not world.retracted(fact) or world.cap(assertion) != "accepted":
            return False
        return (status == "accepted" and "ok" in on_it) or (status == "deleted" and on_it != [])

    def release(
        self, scope: Scope, t: int, claims: Iterable[Record], upto: int | None = None
    ) -> tuple[str, list[str | None]]:
        """§9: `release` or `abstain`, and for each claim why not, or None.

        A claim is {"entity", "attribute", "value", "type" (default string), "facts": [id]}.
        """
        reasons = [self._reason(scope, t, claim, upto) for claim in claims]
        fine = reasons != [] and all(reason is None for reason in reasons)
        return "release" if fine else "abstain", reasons

    def _reason(self, scope: Scope, t: int, claim: Record, upto: int | None) -> str | None:
        if not claim["facts"]:
            return "unsupported"
        against = [self._against(scope, t, claim, fact_id, upto) for fact_id in claim["facts"]]
        found = {reason for reason in against if reason is not None}
        return min(found, key=REASONS.index, default=None)

    def _against(
        self, scope: Scope, t: int, claim: Record, fact_id: str, upto: int | None
    ) -> str | None:
        """The first reason, in §9's order, why one fact does not carry a claim."""
        world, name = self.world(), (scope, fact_id)
        status = self.status(scope, fact_id)
        if status == "blocked":
            return "deleted"
        if status in ("absent", "parked", "rejected") or not self.known(name, upto):
            return "unsupported"
        event = world.assertions[name]["event"]
        claimed = (normaliser.key(claim["entity"]), normaliser.key(claim["attribute"]))
        disputed = self._disputed(scope, t, upto).values()
        checks = {
            "deleted": status in ("covered", "deleted"),
            "retracted": world.retracted(name),
            "mismatch": claimed != key_of(world.assertions[name]) or _value(claim) != _value(event),
            "outside_valid_time": not self.holds(name, t),
            "not_public": not self.sound(name, upto),
            "superseded": self.superseded_by(scope, fact_id, t, upto) != frozenset(),
            "conflicting": any(name in sides for sides in disputed),
        }
        return next((reason for reason in REASONS if checks.get(reason)), None)

    def audit(self, upto: int) -> Model:
        """The model as it stood at a step, its policy derived from that prefix alone."""
        then = Model(self.adapters, self.policy, self.rules)
        then.records = self.records[:upto]
        return then

    def audit_facts(self, scope: Scope, t: When, upto: int) -> frozenset[str]:
        """§10: the facts that were public at a step, by the deletions and retractions of then."""
        return self.audit(upto).public_facts(scope, t)


def _place(record: Record) -> tuple[tuple[str, ...], int]:
    """A record's topic, one for each subject at the least, and its offset in it."""
    return (record["kind"], *scope_of(record)[:3]), record["offset"]


def _reaches(start: Fact, goal: Fact, edges: set[tuple[Fact, Fact]]) -> bool:
    """Whether a path of edges (also the empty one) leads from start to goal."""
    reached = {start}
    while True:
        further = reached | {target for name, target in edges if name in reached}
        if further == reached:
            return goal in reached
        reached = further


def _value(thing: Record) -> tuple[str, object]:
    return normaliser.value(thing["value"], thing.get("type", "string"))


def _in_micros(record: Record) -> Record:
    """The record with its times as integer µs, so that equal instants are equal content."""
    event: dict[str, Any] = dict(record["event"])
    for field in TIMES:
        if event.get(field) is not None:
            event[field] = normaliser.micros(event[field])
    if event.get("type") == "instant":
        event["value"] = normaliser.micros(event["value"])
    return {**record, "event": event}
