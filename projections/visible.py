"""What of many records may be seen at an instant: the view, in bulk (docs/semantics.md §7, §8).

Rules
- It says of each record what `view` says of it alone (I2, I3, I4); a test holds them against each
  other. The certain cases, which are nearly all, are read off glances; whatever rests on facts, is
  superseded, or is otherwise not plain is judged by `view` itself.
- Public views only: marks are those of the current head, whatever evidence is asked for.
- What is seen is the same at every instant in [`since`, `until`), as long as the records and the
  policy stay. So it may be kept by them, and by nothing less (field failure 27).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from projections import keys
from projections.glances import (
    AssertionGlance,
    DocumentGlance,
    FactGlance,
    ObservationGlance,
    document_glances,
    fact_glances,
    observation_glances,
)
from projections.rows import GroupSize
from projections.sights import Candidate, Said, Sight, Standing
from projections.state import Reader
from projections.support import Horizon, judge_all
from projections.view import Group, episode_visible
from schemas.bodies import Check
from schemas.entry import CAP_ACCEPTED
from schemas.errors import StoreDamaged
from schemas.events import Assertion
from schemas.intervals import Bound, earlier
from schemas.kinds import Decision
from schemas.normalise import normalise_key, value_key
from schemas.policy import Policy

_NOT_KEPT = (int(Decision.COVERED), int(Decision.DELETED))
_OK = int(Check.OK)
_NO_GROUNDS = -1
_NEVER = 2**63

MEMBERS = 4096
"""How many facts of groups are read for one look at the tail of a scope, or beyond it."""

R = TypeVar("R")


class Glances(NamedTuple):
    """What was read of a scope, by record hash; `members` are whole groups by their own hash."""

    observations: dict[bytes, ObservationGlance]
    facts: dict[bytes, FactGlance]
    members: dict[bytes, Sequence[bytes]]


class Viewer:
    """Looks at a scope's records under one horizon and policy, at one instant (µs).

    `standing` are groups already judged so, by hash. `unsure` are episodes about which the glances
    did not decide. Of groups at most `members` facts are read, in the order of the documents;
    the facts of a group beyond that are not seen, and `complete` is false.
    """

    def __init__(
        self,
        reader: Reader,
        scope16: bytes,
        horizon: Horizon,
        policy: Policy,
        t: int,
        glances: Glances,
        standing: Mapping[bytes, Standing],
        members: int = MEMBERS,
    ) -> None:
        assert horizon.marks is None, "public views only"
        self._reader = reader
        self._scope = scope16
        self._horizon = horizon
        self._policy = policy
        self._t = t
        self._observations, self._facts, self._members = glances
        self.standing = dict(standing)
        self.unsure: set[bytes] = set()
        self.complete = True
        self._left = members

    def see(self, ordinals: Sequence[int]) -> list[Sight]:
        """Those of the documents that may be seen, in the order given. Raises `StoreDamaged`."""
        if self._horizon.blocked:
            return []
        documents = document_glances(self._reader, self._scope, ordinals)
        self._look(documents)
        seen = []
        for ordinal, document in zip(ordinals, documents, strict=True):
            record16 = document.record
            if document.fact:
                group = self._group_read(self._facts[record16].entity_attribute)
                sight = None if group is None else group.sights.get(record16)
            else:
                sight = self.episode(record16)
            if sight is not None:
                if sight.ordinal != ordinal:
                    raise StoreDamaged(f"document {ordinal}")
                seen.append(sight)
        return seen

    # Reading

    def _look(self, documents: Sequence[DocumentGlance]) -> None:
        """Read all that judging the documents needs, a few reads for all of them."""
        facts = [document.record for document in documents if document.fact]
        self._look_at_facts(facts)
        self._look_at_groups(facts)
        self._look_at_episodes([document.record for document in documents if not document.fact])

    def look(self, groups: Iterable[bytes], episodes: Collection[bytes]) -> None:
        """Read what judging these observations and groups needs, whose members are known."""
        self._look_at_facts(r for attribute16 in groups for r in self._members[attribute16])
        self._look_at_episodes(episodes)

    def _look_at_episodes(self, episodes: Collection[bytes]) -> None:
        """Observations, the facts that hide them, and the sources of all facts looked at."""
        self._look_at_observations(episodes)
        self._look_at_facts(
            fact16 for record16 in episodes for fact16 in self._observations[record16].hiders
        )
        self._look_at_observations(
            source16 for fact in self._facts.values() for source16 in found_in(fact)
        )

    def _look_at_facts(self, records: Iterable[bytes]) -> None:
        new = [record16 for record16 in dict.fromkeys(records) if record16 not in self._facts]
        self._facts.update(fact_glances(self._reader, self._scope, new))

    def _look_at_observations(self, records: Iterable[bytes]) -> None:
        known = self._observations
        new = [record16 for record16 in dict.fromkeys(records) if record16 not in known]
        known.update(observation_glances(self._reader, self._scope, new))

    def _look_at_groups(self, records: Sequence[bytes]) -> None:
        """Read the groups of the facts, with all their members."""
        read: list[bytes] = []
        for record16 in records:
            attribute16 = self._facts[record16].entity_attribute
            if attribute16 in self.standing:
                continue
            if attribute16 not in self._members and not self._read_group(attribute16):
                self.complete = False
                continue
            if record16 not in self._members[attribute16]:
                raise StoreDamaged(f"index of fact {record16.hex()}")
            read.append(attribute16)
        self._look_at_facts(r for attribute16 in read for r in self._members[attribute16])

    def _read_group(self, attribute16: bytes) -> bool:
        """Read the members of a group, unless they are more than may still be read."""
        size = self._reader.row(keys.group_size(self._scope, attribute16))
        if isinstance(size, GroupSize) and size.facts > self._left:
            return False
        found = self._reader.members(self._scope, attribute16)
        self._left -= len(found)
        self._members[attribute16] = found
        return True

    def _group_read(self, attribute16: bytes) -> Standing | None:
        known = attribute16 in self.standing or attribute16 in self._members
        return self.group(attribute16) if known else None

    # Facts

    def group(self, attribute16: bytes) -> Standing:
        """How a group stands whose members were looked at."""
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
        since, until = self._stretch(group.instants())
        public, sides, _ = group.at(self._t)
        said = [_said(m.record, m.event) for m in public or sides]
        conflict = group.conflict_at(self._t)
        overlap = None if conflict is None else (conflict.start, conflict.end)
        return Standing(self._sights(said, overlap), since, until, False)

    def _unsuperseded(self, members: Mapping[bytes, FactGlance]) -> Standing:
        """How facts stand of which none supersedes another: all that are eligible and hold."""
        said: list[Said] = []
        t, since, until = self._t, None, None
        eligible, certain = self._eligible(members)
        for record16, event in eligible:
            start, end = event.valid_from, earlier(event.valid_to, event.expires_at)
            if end is not None and end <= start:
                continue
            if start > t:
                until = earlier(start, until)
            elif end is None or t < end:
                since, until = start if since is None else max(start, since), earlier(end, until)
                said.append(_said(record16, event))
            else:
                since = end if since is None else max(end, since)
        overlap = None
        if _clash(said, self._policy):
            assert since is not None, "two hold"
            overlap = since, until
        return Standing(self._sights(said, overlap), since, until, certain)

    def _stretch(self, points: Sequence[int]) -> tuple[int | None, Bound]:
        """The widest interval around the instant that has none of the points within."""
        since = max((point for point in points if point <= self._t), default=None)
        return since, min((point for point in points if point > self._t), default=None)

    def _sights(
        self, said: Sequence[Said], overlap: tuple[int, Bound] | None
    ) -> dict[bytes, Sight]:
        """Facts as candidates of their own, or as sides of one conflict."""
        conflict = None
        if overlap is not None:
            name = min(one.fact_id for one in said)
            conflict = Candidate("conflict", name, tuple(said), _names(said), overlap)
        found = {}
        for one in said:
            candidate = conflict or Candidate("fact", one.fact_id, (one,), _names((one,)), None)
            ordinal = self._facts[one.record].ordinal
            found[one.record] = Sight(ordinal, one.record, one.text, candidate)
        return found

    def _eligible(
        self, members: Mapping[bytes, FactGlance]
    ) -> tuple[list[tuple[bytes, AssertionGlance]], bool]:
        """Those in force at level accepted by grounds of the prefix, and not retracted.

        And whether the glances alone decided that.
        """
        found, unsure = [], []
        for record16, fact in members.items():
            if fact.event is None or not self._may_be_eligible(fact):
                continue
            grounds = self._grounds(fact)
            if grounds is None or not self._horizon.knows(grounds):
                unsure.append((record16, fact.event))
            elif grounds != _NO_GROUNDS:
                found.append((record16, fact.event))
        if not unsure:
            return found, True
        grounded = self._grounded([record16 for record16, _ in unsure])
        return found + [one for one in unsure if one[0] in grounded], False

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

    def episode(self, record16: bytes) -> Sight | None:
        """An observation as testimony with words, if it is that; its hiders were looked at."""
        observation, horizon = self._observations[record16], self._horizon
        event = observation.event
        if (
            event is None
            or observation.ordinal < 0
            or observation.deletions
            or observation.append <= horizon.cutoff_ms
            or not horizon.knows(observation.recorded_at)
            or (observation.hiders and not self._unhidden(record16, observation.hiders))
        ):
            return None
        candidate = Candidate("episode", event.envelope.event_id, (), (), None)
        return Sight(observation.ordinal, record16, event.content or "", candidate)

    def _unhidden(self, record16: bytes, hiders: Sequence[bytes]) -> bool:
        hides = [self._hides(fact16, record16) for fact16 in hiders]
        if True in hides:
            return False
        if None not in hides:
            return True
        self.unsure.add(record16)
        return self._judged_episode(record16)

    def _hides(self, fact16: bytes, record16: bytes) -> bool | None:
        """Whether a fact hides an episode that it cites; None if it is not certain."""
        fact = _there(self._facts.get(fact16), f"fact {fact16.hex()}")
        if not fact.flags & CAP_ACCEPTED or self._grounds(fact) in (None, _NO_GROUNDS):
            return None
        return self._horizon.retracted(fact.retractions) and record16 in found_in(fact)

    def _judged_episode(self, record16: bytes) -> bool:
        found = self._reader.observation(self._scope, record16)
        row = _there(found, f"observation {record16.hex()}")
        return episode_visible(
            self._reader, self._scope, record16, row, self._horizon, self._policy
        )


def _names(said: Iterable[Said]) -> tuple[str, ...]:
    """Normalised entities, attributes and values, each once."""
    names = {
        normalise_key(text) for one in said for text in (one.entity, one.attribute, one.value.text)
    }
    names.discard("")
    return tuple(names)


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


def found_in(fact: FactGlance) -> list[bytes]:
    """Hashes of the observations in which quotes of a fact were found."""
    witnesses = [witness for justification in fact.witnesses for witness in justification]
    return [
        source16
        for witness, source16 in zip(witnesses, fact.sources, strict=False)
        if witness.check == _OK and not witness.on_fact
    ]
