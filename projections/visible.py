"""What of many records may be seen at an instant: the view, in bulk (docs/semantics.md §7, §8).

Rules
- It says of each record what `view` says of it alone (I2, I3, I4); a test holds them against each
  other. The certain cases, which are nearly all, are read off glances; whatever rests on facts, is
  superseded, or is otherwise not plain is judged by `view` itself.
- Public views only: marks are those of the current head, whatever evidence is asked for.
- What is seen is the same at every instant in [`since`, `until`), as long as the scope's head and
  the policy stay. So it may be kept by them, and by nothing less (field failure 27).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from projections.glances import (
    AssertionGlance,
    DocumentGlance,
    FactGlance,
    ObservationGlance,
    all_facts,
    all_observations,
    document_glances,
    fact_glances,
    observation_glances,
)
from projections.state import Reader
from projections.support import Horizon, judge_all
from projections.view import Group, episode_visible
from schemas.bodies import Check
from schemas.entry import CAP_ACCEPTED
from schemas.errors import StoreDamaged
from schemas.events import Assertion, Value
from schemas.intervals import Bound, earlier, holds
from schemas.kinds import Decision
from schemas.normalise import normalise_key, value_key
from schemas.policy import Policy
from schemas.values import json_value

_NOT_KEPT = (int(Decision.COVERED), int(Decision.DELETED))
_OK = int(Check.OK)
_NO_GROUNDS = -1
_NEVER = 2**63
_SLACK = 1024

R = TypeVar("R")


class Said(msgspec.Struct, frozen=True, gc=False):
    """What a fact says."""

    record: bytes
    fact_id: str
    entity: str
    attribute: str
    value: Value

    @property
    def text(self) -> str:
        """What a fact is found by."""
        return f"{self.entity} {self.attribute} {json_value(self.value)}"


class Candidate(msgspec.Struct, frozen=True, eq=False, gc=False):
    """What a search may find: an `episode`, a `fact`, or a `conflict` with all its sides.

    `name` breaks ties: the record's own id, of a conflict the least fact id. `said` is what its
    facts say, `overlap` the widest interval on which they are in just this conflict.
    """

    kind: str
    name: str
    said: tuple[Said, ...]
    overlap: tuple[int, Bound] | None


class Sight(msgspec.Struct, frozen=True, gc=False):
    """A document that may be seen, and the candidate that it is (a part of)."""

    ordinal: int
    record: bytes
    text: str
    candidate: Candidate


class Standing(NamedTuple):
    """The unsuperseded facts of one (entity, attribute) that are eligible and hold at the instant.

    All of them are public, or all of them are one conflict's sides: two values of a single-valued
    attribute are unequal (I3).
    """

    facts: Mapping[bytes, Said]
    candidates: Mapping[bytes, Candidate]


class Viewer:
    """Looks at a scope's documents under one horizon and policy, at one instant (µs).

    `standing` are groups already judged so, by hash.
    """

    def __init__(
        self,
        reader: Reader,
        scope16: bytes,
        horizon: Horizon,
        policy: Policy,
        t: int,
        standing: Mapping[bytes, Standing],
    ) -> None:
        assert horizon.marks is None, "public views only"
        self._reader = reader
        self._scope = scope16
        self._horizon = horizon
        self._policy = policy
        self._t = t
        self._observations: dict[bytes, ObservationGlance] = {}
        self._facts: dict[bytes, FactGlance] = {}
        self._members: dict[bytes, list[bytes]] = {}
        self._points: list[int] = []
        self.standing = dict(standing)

    def see(self, ordinals: Sequence[int]) -> list[Sight]:
        """Those of the documents that may be seen, in the order given. Raises `StoreDamaged`."""
        if self._horizon.blocked:
            return []
        documents = document_glances(self._reader, self._scope, ordinals)
        self._look(documents)
        return self._seen(ordinals, documents)

    def see_all(self, documents: int) -> list[Sight]:
        """What may be seen of a scope with so many documents; reads it in one go."""
        if self._horizon.blocked:
            return []
        found = self._look_at_all(documents)
        ordinals = range(documents)
        return self.see(ordinals) if found is None else self._seen(ordinals, found)

    @property
    def since(self) -> int | None:
        """The first instant from which on just this is seen; None if there is none."""
        return max((point for point in self._points if point <= self._t), default=None)

    @property
    def until(self) -> int | None:
        """The instant from which on something else may be seen; None if there is none."""
        return min((point for point in self._points if point > self._t), default=None)

    def _seen(self, ordinals: Sequence[int], documents: Sequence[DocumentGlance]) -> list[Sight]:
        seen = []
        for ordinal, document in zip(ordinals, documents, strict=True):
            record16 = document.record
            if document.fact:
                standing = self._group(self._facts[record16].entity_attribute)
                said = standing.facts.get(record16)
                if said is not None:
                    found = standing.candidates[record16]
                    seen.append(Sight(ordinal, record16, said.text, found))
                continue
            observation = self._observations[record16]
            event = observation.event
            if event is not None and self._episode(record16, observation):
                found = Candidate("episode", event.envelope.event_id, (), None)
                seen.append(Sight(ordinal, record16, event.content or "", found))
        return seen

    # Reading

    def _look_at_all(self, documents: int) -> list[DocumentGlance] | None:
        """Read the scope's records in order of their keys; None if most of them are no documents.

        The records must have the ordinals 0 to `documents` - 1, each once.
        """
        limit = _SLACK + 2 * documents
        facts = all_facts(self._reader, self._scope, limit)
        observations = all_observations(self._reader, self._scope, limit)
        if facts is None or observations is None:
            return None
        self._facts, self._observations = facts, observations
        for record16, fact in facts.items():
            self._members.setdefault(fact.entity_attribute, []).append(record16)
        found: dict[int, DocumentGlance] = {}
        count = 0
        for is_fact, records in ((True, facts), (False, observations)):
            for record16, glance in records.items():
                if glance.ordinal >= 0:
                    found[glance.ordinal] = DocumentGlance(is_fact, record16)
                    count += 1
        if not count == len(found) == documents:
            raise StoreDamaged(f"one of the scope's {documents} documents")
        return [_there(found.get(ordinal), f"document {ordinal}") for ordinal in range(documents)]

    def _look(self, documents: Sequence[DocumentGlance]) -> None:
        """Read all that judging the documents needs, a few reads for all of them."""
        facts = [document.record for document in documents if document.fact]
        episodes = [document.record for document in documents if not document.fact]
        self._look_at_facts(facts)
        self._look_at_groups(facts)
        self._look_at_observations(episodes)
        self._look_at_facts(
            fact16 for record16 in episodes for fact16 in self._observations[record16].hiders
        )
        self._look_at_observations(
            source16 for fact in self._facts.values() for source16 in _found_in(fact)
        )

    def _look_at_facts(self, records: Iterable[bytes]) -> None:
        new = [record16 for record16 in dict.fromkeys(records) if record16 not in self._facts]
        self._facts |= fact_glances(self._reader, self._scope, new)

    def _look_at_observations(self, records: Iterable[bytes]) -> None:
        known = self._observations
        new = [record16 for record16 in dict.fromkeys(records) if record16 not in known]
        known |= observation_glances(self._reader, self._scope, new)

    def _look_at_groups(self, records: Sequence[bytes]) -> None:
        """Read the groups of the facts, with all their members."""
        attribute_of = {r: self._facts[r].entity_attribute for r in records}
        new = set(attribute_of.values()).difference(self._members, self.standing)
        for attribute16 in new:
            self._members[attribute16] = self._reader.members(self._scope, attribute16)
        for record16, attribute16 in attribute_of.items():
            if attribute16 in new and record16 not in self._members[attribute16]:
                raise StoreDamaged(f"index of fact {record16.hex()}")
        self._look_at_facts(r for attribute16 in new for r in self._members[attribute16])

    # Facts

    def _group(self, attribute16: bytes) -> Standing:
        standing = self.standing.get(attribute16)
        if standing is None:
            members = {record16: self._facts[record16] for record16 in self._members[attribute16]}
            targets = {fact.supersedes for fact in members.values()}
            if targets.isdisjoint(members):
                standing = self._unsuperseded(members)
            else:
                standing = self._judged(attribute16)
            self.standing[attribute16] = standing
        return standing

    def _judged(self, attribute16: bytes) -> Standing:
        group = Group(self._reader, self._scope, attribute16, self._horizon, self._policy)
        self._points += group.instants()
        public, sides, _ = group.at(self._t)
        facts = {m.record: _said(m.record, m.event) for m in public or sides}
        conflict = group.conflict_at(self._t)
        return _standing(facts, None if conflict is None else (conflict.start, conflict.end))

    def _unsuperseded(self, members: Mapping[bytes, FactGlance]) -> Standing:
        """How facts stand of which none supersedes another: all that are eligible and hold."""
        facts: dict[bytes, Said] = {}
        points: list[int] = []
        for record16, event in self._eligible(members):
            start, end = event.valid_from, earlier(event.valid_to, event.expires_at)
            if end is not None and end <= start:
                continue
            points.append(start)
            if end is not None:
                points.append(end)
            if holds(start, end, self._t):
                facts[record16] = _said(record16, event)
        self._points += points
        if not _clash(list(facts.values()), self._policy):
            return _standing(facts, None)
        since = max(point for point in points if point <= self._t)
        return _standing(facts, (since, min((p for p in points if p > self._t), default=None)))

    def _eligible(
        self, members: Mapping[bytes, FactGlance]
    ) -> Iterator[tuple[bytes, AssertionGlance]]:
        """Those in force at level accepted by grounds of the prefix, and not retracted."""
        unsure = []
        for record16, fact in members.items():
            if fact.event is None or not self._may_be_eligible(fact):
                continue
            grounds = self._grounds(fact)
            if grounds is None or not self._horizon.knows(grounds):
                unsure.append((record16, fact.event))
            elif grounds != _NO_GROUNDS:
                yield record16, fact.event
        grounded = self._grounded([record16 for record16, _ in unsure])
        yield from (one for one in unsure if one[0] in grounded)

    def _may_be_eligible(self, fact: FactGlance) -> bool:
        """Whether status and grounds alone decide."""
        horizon = self._horizon
        return (
            fact.decided_at > 0
            and bool(fact.flags & CAP_ACCEPTED)
            and not (fact.retractions and horizon.retracted(fact.retractions))
            and horizon.knows(fact.decided_at)
        )

    def _grounds(self, fact: FactGlance) -> int | None:
        """A τ since which a fact that may be accepted has grounds, as far as it is certain.

        `_NO_GROUNDS` if it certainly is not in force at level accepted, None if it may be.
        """
        if fact.deletions or fact.decision in _NOT_KEPT or fact.append <= self._horizon.cutoff_ms:
            return _NO_GROUNDS
        observations, cutoff_ms = self._observations, self._horizon.cutoff_ms
        grounds: int | None = None
        dead = at = 0
        for justification in fact.witnesses:  # `sources` has one a premise, in order
            since, gone = 0, False
            for witness in justification:
                source16 = fact.sources[at]
                at += 1
                if witness.on_fact or witness.check != _OK:
                    since = _NEVER
                    continue
                source = _there(observations.get(source16), f"observation {source16.hex()}")
                gone = gone or bool(source.deletions) or source.append <= cutoff_ms
                since = max(since, witness.recorded_at)
            dead += gone
            if not gone and since < _NEVER:
                grounds = since if grounds is None else min(grounds, since)
        if fact.witnesses and dead == len(fact.witnesses):
            return _NO_GROUNDS
        return grounds

    def _grounded(self, records: Sequence[bytes]) -> set[bytes]:
        """Those of the facts that have grounds of the prefix, judged in full."""
        rows = {record16: self._reader.fact(self._scope, record16) for record16 in records}
        there = {record16: row for record16, row in rows.items() if row is not None}
        verdicts = judge_all(self._reader, self._scope, there, self._horizon)
        grounded = {record16: verdicts[record16].grounded_at for record16 in there}
        return {r for r, since in grounded.items() if since and self._horizon.knows(since)}

    # Episodes

    def _episode(self, record16: bytes, observation: ObservationGlance) -> bool:
        horizon = self._horizon
        if (
            observation.deletions
            or observation.append <= horizon.cutoff_ms
            or not horizon.knows(observation.recorded_at)
        ):
            return False
        if not observation.hiders:
            return True
        hides = [self._hides(fact16, record16) for fact16 in observation.hiders]
        if True in hides:
            return False
        return None not in hides or self._judged_episode(record16)

    def _hides(self, fact16: bytes, record16: bytes) -> bool | None:
        """Whether a fact hides an episode that it cites; None if it is not certain."""
        fact = _there(self._facts.get(fact16), f"fact {fact16.hex()}")
        if not fact.flags & CAP_ACCEPTED or self._grounds(fact) in (None, _NO_GROUNDS):
            return None
        return self._horizon.retracted(fact.retractions) and record16 in _found_in(fact)

    def _judged_episode(self, record16: bytes) -> bool:
        found = self._reader.observation(self._scope, record16)
        row = _there(found, f"observation {record16.hex()}")
        return episode_visible(
            self._reader, self._scope, record16, row, self._horizon, self._policy
        )


def _standing(facts: dict[bytes, Said], overlap: tuple[int, Bound] | None) -> Standing:
    said = tuple(facts.values())
    if overlap is None:
        candidates = {one.record: Candidate("fact", one.fact_id, (one,), None) for one in said}
        return Standing(facts, candidates)
    conflict = Candidate("conflict", min(one.fact_id for one in said), said, overlap)
    return Standing(facts, dict.fromkeys(facts, conflict))


def _clash(said: Sequence[Said], policy: Policy) -> bool:
    """Whether two of the values of a single-valued attribute are unequal."""
    if len(said) < 2 or not policy.single_valued(normalise_key(said[0].attribute)):
        return False
    return len({value_key(one.value, policy.fold_values) for one in said}) > 1


def _said(record16: bytes, event: Assertion | AssertionGlance) -> Said:
    return Said(record16, event.fact_id, event.entity, event.attribute, event.value)


def _there(row: R | None, what: str) -> R:
    if row is None:
        raise StoreDamaged(what)
    return row


def _found_in(fact: FactGlance) -> list[bytes]:
    """Hashes of the observations in which quotes of a fact were found."""
    witnesses = [witness for justification in fact.witnesses for witness in justification]
    return [
        source16
        for witness, source16 in zip(witnesses, fact.sources, strict=False)
        if witness.check == _OK and not witness.on_fact
    ]
