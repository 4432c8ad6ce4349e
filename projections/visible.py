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
from typing import NamedTuple

from projections import keys
from projections.glances import (
    AssertionGlance,
    FactGlance,
    ObservationGlance,
    fact_glances,
    observation_glances,
)
from projections.rows import Document
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

_NOT_KEPT = (Decision.COVERED, Decision.DELETED)


class Said(NamedTuple):
    """What a fact says."""

    fact_id: str
    entity: str
    attribute: str
    value: Value

    @property
    def text(self) -> str:
        """What a fact is found by."""
        return f"{self.entity} {self.attribute} {json_value(self.value)}"


class Standing:
    """The unsuperseded facts of one (entity, attribute) that are eligible and hold at the instant.

    All of them are public, or all of them are one conflict's sides.
    """

    def __init__(self, facts: Mapping[bytes, Said], policy: Policy) -> None:
        self.facts = facts
        self._policy = policy
        self._conflict: bool | None = None

    @property
    def conflict(self) -> bool:
        """Whether two of the values of a single-valued attribute are unequal."""
        if self._conflict is None:
            self._conflict = self._clash()
        return self._conflict

    def _clash(self) -> bool:
        said = list(self.facts.values())
        if len(said) < 2 or not self._policy.single_valued(normalise_key(said[0].attribute)):
            return False
        fold = self._policy.fold_values
        return len({value_key(one.value, fold) for one in said}) > 1


class Sight(NamedTuple):
    """A document that may be seen; `name` is the record's own id, `standing` None for episodes."""

    ordinal: int
    record: bytes
    name: str
    text: str
    standing: Standing | None


def kind_of(sight: Sight) -> str:
    """What a sight is found as: `episode`, `fact` or `conflict`."""
    if sight.standing is None:
        return "episode"
    return "conflict" if sight.standing.conflict else "fact"


class Viewer:
    """Looks at a scope's documents under one horizon and policy, at one instant (µs).

    `standing` are groups already judged so, by hash. With `whole` the scope's groups are read in
    one go, which is faster where most are looked at.
    """

    def __init__(
        self,
        reader: Reader,
        scope16: bytes,
        horizon: Horizon,
        policy: Policy,
        t: int,
        standing: Mapping[bytes, Standing],
        *,
        whole: bool,
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
        self._whole = whole
        self.standing = dict(standing)
        self.since: int | None = None
        self.until: int | None = None

    def see(self, documents: Sequence[tuple[int, Document]]) -> list[Sight]:
        """Those of the documents that may be seen, in the order given."""
        if self._horizon.blocked:
            return []
        self._look(documents)
        seen = []
        for ordinal, document in documents:
            record16 = document.record
            if document.fact:
                fact = self._facts[record16]
                standing = self._group(fact.entity_attribute)
                said = standing.facts.get(record16)
                if said is not None:
                    seen.append(Sight(ordinal, record16, said.fact_id, said.text, standing))
            else:
                event = self._observations[record16].event
                if event is not None and self._episode(record16):
                    name, text = event.envelope.event_id, event.content or ""
                    seen.append(Sight(ordinal, record16, name, text, None))
        return seen

    # Reading

    def _look(self, documents: Sequence[tuple[int, Document]]) -> None:
        """Read all that judging the documents needs, a few reads for all of them."""
        facts = [document.record for _, document in documents if document.fact]
        episodes = [document.record for _, document in documents if not document.fact]
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
        if self._whole and new:
            prefixes = [keys.groups(self._scope)]
        else:
            prefixes = [keys.group(self._scope, attribute16) for attribute16 in new]
        found = {key[17:]: None for prefix in prefixes for key, _ in self._reader.scan(prefix)}
        for place in found:
            self._members.setdefault(place[:16], []).append(place[16:])
        for record16, attribute16 in attribute_of.items():
            if attribute16 in new and attribute16 + record16 not in found:
                raise StoreDamaged(f"index of fact {record16.hex()}")
        self._look_at_facts(place[16:] for place in found)

    # Facts

    def _group(self, attribute16: bytes) -> Standing:
        standing = self.standing.get(attribute16)
        if standing is None:
            members = {record16: self._facts[record16] for record16 in self._members[attribute16]}
            targets = {fact.supersedes for fact in members.values()}
            if targets.isdisjoint(members):
                found = self._unsuperseded(members)
            else:
                found = self._judged(attribute16)
            standing = self.standing[attribute16] = Standing(found, self._policy)
        return standing

    def _judged(self, attribute16: bytes) -> dict[bytes, Said]:
        group = Group(self._reader, self._scope, attribute16, self._horizon, self._policy)
        for point in group.instants():
            self._change(point)
        public, conflict, _ = group.at(self._t)
        return {member.record: _said(member.event) for member in public or conflict}

    def _unsuperseded(self, members: Mapping[bytes, FactGlance]) -> dict[bytes, Said]:
        """What stands of facts of which none supersedes another."""
        found: dict[bytes, Said] = {}
        unsure = []
        for record16, fact in members.items():
            if not self._may_be_eligible(fact):
                continue
            grounds = self._accepted(fact)
            if grounds is None or not self._horizon.knows(grounds):
                unsure.append(record16)
            else:
                self._stand(found, record16, fact)
        for record16 in self._eligible(unsure):
            self._stand(found, record16, members[record16])
        return found

    def _may_be_eligible(self, fact: FactGlance) -> bool:
        """Whether status and grounds alone decide."""
        horizon = self._horizon
        return (
            fact.decided_at > 0
            and fact.event is not None
            and bool(fact.flags & CAP_ACCEPTED)
            and horizon.knows(fact.decided_at)
            and not horizon.retracted(fact.retractions)
        )

    def _accepted(self, fact: FactGlance) -> int | None:
        """A τ since which a fact has grounds, if it is certainly in force at level accepted."""
        if (
            fact.deletions
            or fact.decision in _NOT_KEPT
            or not fact.flags & CAP_ACCEPTED
            or self._horizon.covers(fact.append)
        ):
            return None
        sources = iter(fact.sources)  # one a premise, in order
        grounds: list[int] = []
        for justification in fact.witnesses:
            cited = [(witness, next(sources)) for witness in justification]
            if all(
                witness.check == Check.OK and not witness.on_fact and not self._gone(source16)
                for witness, source16 in cited
            ):
                grounds.append(max(witness.recorded_at for witness, _ in cited))
        return min(grounds, default=None)

    def _gone(self, source16: bytes) -> bool:
        source = self._observations[source16]
        return bool(source.deletions) or self._horizon.covers(source.append)

    def _eligible(self, records: Sequence[bytes]) -> list[bytes]:
        """Those of the facts that have grounds of the prefix, judged in full."""
        rows = {record16: self._reader.fact(self._scope, record16) for record16 in records}
        there = {record16: row for record16, row in rows.items() if row is not None}
        if not there:
            return []
        verdicts = judge_all(self._reader, self._scope, there, self._horizon)
        found = []
        for record16 in records:
            grounded_at = verdicts[record16].grounded_at
            if grounded_at is not None and self._horizon.knows(grounded_at):
                found.append(record16)
        return found

    def _stand(self, found: dict[bytes, Said], record16: bytes, fact: FactGlance) -> None:
        """Take an eligible fact if it holds; remember when that changes."""
        event = fact.event
        assert event is not None
        start, end = event.valid_from, earlier(event.valid_to, event.expires_at)
        self._change(start)
        self._change(end)
        if holds(start, end, self._t):
            found[record16] = _said(event)

    def _change(self, point: Bound) -> None:
        """What is seen may differ before and after an instant."""
        if point is None:
            return
        if point <= self._t:
            self.since = point if self.since is None else max(self.since, point)
        else:
            self.until = point if self.until is None else min(self.until, point)

    # Episodes

    def _episode(self, record16: bytes) -> bool:
        observation = self._observations[record16]
        if self._gone(record16) or not self._horizon.knows(observation.recorded_at):
            return False
        hides = [self._hides(fact16, record16) for fact16 in observation.hiders]
        if True in hides:
            return False
        return None not in hides or self._judged_episode(record16)

    def _hides(self, fact16: bytes, record16: bytes) -> bool | None:
        """Whether a fact hides an episode that it cites; None if it is not certain."""
        fact = self._facts[fact16]
        if self._accepted(fact) is None:
            return None
        return self._horizon.retracted(fact.retractions) and any(
            source16 == record16 for source16 in _found_in(fact)
        )

    def _judged_episode(self, record16: bytes) -> bool:
        row = self._reader.observation(self._scope, record16)
        if row is None:
            raise StoreDamaged(f"observation {record16.hex()}")
        return episode_visible(
            self._reader, self._scope, record16, row, self._horizon, self._policy
        )


def _said(event: Assertion | AssertionGlance) -> Said:
    return Said(event.fact_id, event.entity, event.attribute, event.value)


def _found_in(fact: FactGlance) -> Iterator[bytes]:
    """Hashes of the observations in which quotes of a fact were found."""
    sources = iter(fact.sources)  # one a premise, in order
    for justification in fact.witnesses:
        for witness, source16 in zip(justification, sources, strict=False):
            if not witness.on_fact and witness.check == Check.OK:
                yield source16
