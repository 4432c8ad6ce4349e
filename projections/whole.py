"""A scope of ordinary size, looked at as a whole and kept up to date (SPEC §8).

Rules
- The first look reads all records in one walk. They must have the ordinals 0 to `documents` - 1,
  each once: one that is missing, doubled or injected stops the read (SPEC §5).
- A later look reads what was written since (`projections.journal`), and judges again only what can
  depend on it: a record itself, the group of a fact, the sources of a fact (which it may hide), and
  the same of every fact that cites a changed observation. New documents must have the ordinals that
  follow. What the glances alone did not decide is judged again every time. A test holds this
  against looking afresh at each step.
- Without a journal that goes back to the last look, the scope is looked at afresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from projections import keys
from projections.glances import (
    FactGlance,
    ObservationGlance,
    fact_glances,
    observation_glances,
    observations_among,
    scope_facts,
    scope_observations,
)
from projections.journal import Journal, journal_of
from projections.sights import Sight, Standing, lasts
from projections.state import Reader, StoreReader
from projections.support import Horizon
from projections.visible import Glances, Viewer
from schemas.errors import StoreDamaged
from schemas.policy import Policy

_SLACK = 1024


class Whole(NamedTuple):
    """What is seen of a scope, for one horizon and policy, and how far its journal was read.

    `episodes` are the seen ones; the facts are in `standing`, by group. `members` are all facts of
    each group.
    """

    horizon: Horizon
    policy: Policy
    documents: int
    episodes: dict[bytes, Sight]
    unsure: set[bytes]
    standing: dict[bytes, Standing]
    members: dict[bytes, Sequence[bytes]]
    journal: Journal | None
    read: int

    def sights(self) -> list[Sight]:
        """What is seen, by ordinal."""
        found = list(self.episodes.values())
        for standing in self.standing.values():
            found += standing.sights.values()
        return sorted(found, key=lambda sight: sight.ordinal)


def look_at_whole(
    reader: Reader,
    scope16: bytes,
    horizon: Horizon,
    policy: Policy,
    t: int,
    documents: int,
    kept: Whole | None,
) -> Whole | None:
    """The scope as it is now; None if most of what it holds are no documents.

    `kept` is an earlier look, of this horizon and policy or any other. Raises `StoreDamaged`.
    """
    assert isinstance(reader, StoreReader), "views are of committed state"
    journal = journal_of(reader.store, scope16)
    if (
        kept is not None
        and journal is not None
        and kept.journal is journal
        and (kept.horizon, kept.policy) == (horizon, policy)
    ):
        return _look_again(reader, scope16, t, documents, kept)
    looked = _look_afresh(reader, scope16, horizon, policy, t, documents)
    if looked is None or journal is None:
        return looked
    return looked._replace(journal=journal, read=len(journal))


def _look_afresh(
    reader: StoreReader, scope16: bytes, horizon: Horizon, policy: Policy, t: int, documents: int
) -> Whole | None:
    limit = _SLACK + 2 * documents
    observations = scope_observations(reader, scope16, limit)
    facts = scope_facts(reader, scope16, limit)
    if observations is None or facts is None:
        return None
    ordinals = [one.ordinal for one in observations.values()]
    ordinals += [one.ordinal for one in facts.values()]
    _check_ordinals(ordinals, 0, documents)
    members = _with(facts, {})
    viewer = Viewer(reader, scope16, horizon, policy, t, Glances(observations, facts, members), {})
    for attribute16 in members:
        viewer.group(attribute16)
    episodes = {
        record16: sight
        for record16 in observations
        if (sight := viewer.episode(record16)) is not None
    }
    return Whole(
        horizon, policy, documents, episodes, viewer.unsure, viewer.standing, members, None, 0
    )


def _with(
    facts: Mapping[bytes, FactGlance], known: Mapping[bytes, Sequence[bytes]]
) -> dict[bytes, Sequence[bytes]]:
    """The facts of each group, with these among them."""
    new: dict[bytes, list[bytes]] = {}
    for record16, fact in facts.items():
        new.setdefault(fact.entity_attribute, []).append(record16)
    grown = {
        attribute16: tuple(dict.fromkeys((*known.get(attribute16, ()), *more)))
        for attribute16, more in new.items()
    }
    return {**known, **grown}


def _look_again(reader: Reader, scope16: bytes, t: int, documents: int, kept: Whole) -> Whole:
    """What was kept, brought up to date."""
    assert kept.journal is not None
    groups, episodes, observations, facts = _touched(reader, scope16, documents, kept)
    members = _with(facts, kept.members)
    standing = {
        attribute16: one
        for attribute16, one in kept.standing.items()
        if one.certain and attribute16 not in groups and lasts(one.since, one.until, t)
    }
    groups |= kept.standing.keys() - standing.keys()
    episodes |= kept.unsure
    frame = (reader, scope16, kept.horizon, kept.policy, t)
    viewer = Viewer(*frame, Glances(observations, facts, members), standing)
    viewer.look(groups, episodes)
    for attribute16 in groups:
        viewer.group(attribute16)
    seen = dict(kept.episodes)
    for record16 in episodes:
        sight = viewer.episode(record16)
        if sight is not None:
            seen[record16] = sight
        else:
            seen.pop(record16, None)
    return kept._replace(
        documents=documents,
        episodes=seen,
        unsure=viewer.unsure,
        standing=viewer.standing,
        members=members,
        read=len(kept.journal),
    )


class _Touched(NamedTuple):
    """Whose standing may have changed since the last look, and what was read to tell."""

    groups: set[bytes]
    episodes: set[bytes]
    observations: dict[bytes, ObservationGlance]
    facts: dict[bytes, FactGlance]


def _touched(reader: Reader, scope16: bytes, documents: int, kept: Whole) -> _Touched:
    """What follows from the journal. Facts that cite a new observation are written themselves."""
    assert kept.journal is not None
    written: tuple[set[bytes], set[bytes]] = set(), set()
    of_facts = keys.facts(scope16)
    for key in kept.journal[kept.read :]:
        written[key.startswith(of_facts)].add(key[len(of_facts) :])
    observations = observation_glances(reader, scope16, list(written[False]))
    facts = fact_glances(reader, scope16, list(written[True]))
    ordinals = [one.ordinal for one in observations.values()]
    ordinals += [one.ordinal for one in facts.values()]
    _check_ordinals((at for at in ordinals if at >= kept.documents), kept.documents, documents)
    changed = [r for r, one in observations.items() if one.ordinal < kept.documents]
    citing = {fact16 for record16 in changed for fact16 in reader.citing(record16)}
    facts |= fact_glances(reader, scope16, list(citing - facts.keys()))
    sources = {source16 for fact in facts.values() for source16 in fact.sources}
    observations |= observations_among(reader, scope16, sources - observations.keys())
    groups = {fact.entity_attribute for fact in facts.values()}
    return _Touched(groups, set(observations), observations, facts)


def _check_ordinals(ordinals: Iterable[int], start: int, end: int) -> None:
    """Documents must be numbered from `start` to `end` - 1, each once; others are no documents."""
    found = sorted(at for at in ordinals if at >= 0)
    if found != list(range(start, end)):
        raise StoreDamaged(f"one of the scope's {end} documents")
