"""A scope of ordinary size, looked at as a whole and kept up to date (SPEC §8).

Rules
- All records are read in one walk, each time. They must have the ordinals 0 to `documents` - 1,
  each once: one that is missing, doubled or injected stops the read (SPEC §5).
- Compared with what was read before, by its hash, only what changed is checked and decoded, and
  only what can depend on it is judged again: a record itself, the group of a fact, the sources of a
  fact (which it may hide), and the same of every fact that cites a changed observation. What the
  glances alone did not decide is judged again every time. A test holds this against looking afresh
  at each step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from projections.glances import FactGlance, Stored
from projections.sights import Sight, Standing
from projections.state import Reader
from projections.support import Horizon
from projections.visible import Glances, Viewer
from schemas.errors import StoreDamaged
from schemas.policy import Policy

_SLACK = 1024
_RECORD_BYTES = 1_100


class Whole(NamedTuple):
    """What was read of a scope and what is seen of it, for one horizon and policy.

    `observations` and `facts` are the hashes (Python's, of 64 bits under a key of the process) of
    the stored rows, `citing` the facts that cite a record; `episodes` has None for one not seen.
    """

    horizon: Horizon
    policy: Policy
    observations: dict[bytes, int]
    facts: dict[bytes, int]
    glances: Glances
    citing: dict[bytes, tuple[bytes, ...]]
    record_of: dict[int, bytes]
    episodes: dict[bytes, Sight | None]
    unsure: set[bytes]
    standing: dict[bytes, Standing]

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return _RECORD_BYTES * (len(self.observations) + len(self.facts))

    def sights(self) -> list[Sight]:
        """What is seen, by ordinal."""
        found = [sight for sight in self.episodes.values() if sight is not None]
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
    limit = _SLACK + 2 * documents
    stored = Stored(reader, scope16)
    observations, facts = stored.observations(limit), stored.facts(limit)
    if observations is None or facts is None:
        return None
    if kept is not None and (kept.horizon, kept.policy) != (horizon, policy):
        kept = None
    whole = _carried_over(kept, horizon, policy)
    changed_observations = _changed(whole.observations, observations)
    changed_facts = _changed(whole.facts, facts)
    for record16 in changed_observations:
        observation = stored.observation(record16, observations[record16])
        whole.glances.observations[record16] = observation
        _place(whole, record16, observation.ordinal)
    for record16 in changed_facts:
        _take(whole, record16, stored.fact(record16, facts[record16]))
    _check_ordinals(whole, documents)
    groups, episodes = _touched(whole, changed_observations, changed_facts)
    for attribute16, standing in list(whole.standing.items()):
        passed = (standing.since is not None and t < standing.since) or (
            standing.until is not None and t >= standing.until
        )
        if passed or not standing.certain or attribute16 in groups:
            del whole.standing[attribute16]
    viewer = Viewer(reader, scope16, horizon, policy, t, whole.glances, whole.standing)
    for attribute16 in whole.glances.members:
        whole.standing[attribute16] = viewer.group(attribute16)
    episodes |= whole.unsure
    for record16 in episodes:
        whole.episodes[record16] = viewer.episode(record16)
    return whole._replace(unsure=viewer.unsure)


def _carried_over(kept: Whole | None, horizon: Horizon, policy: Policy) -> Whole:
    """What was kept, to be changed here without changing it there."""
    if kept is None:
        return Whole(horizon, policy, {}, {}, Glances({}, {}, {}), {}, {}, {}, set(), {})
    glances = kept.glances
    return kept._replace(
        observations=dict(kept.observations),
        facts=dict(kept.facts),
        glances=Glances(dict(glances.observations), dict(glances.facts), dict(glances.members)),
        citing=dict(kept.citing),
        record_of=dict(kept.record_of),
        episodes=dict(kept.episodes),
        standing=dict(kept.standing),
    )


def _changed(known: dict[bytes, int], rows: dict[bytes, bytes]) -> list[bytes]:
    """Records that are new or not as they were, now known. Raises `StoreDamaged` if one is gone."""
    changed = []
    for record16, row in rows.items():
        seen = hash(row)
        if known.get(record16) != seen:
            known[record16] = seen
            changed.append(record16)
    if len(known) != len(rows):
        raise StoreDamaged("a record of the scope")
    return changed


def _place(whole: Whole, record16: bytes, ordinal: int) -> None:
    if ordinal >= 0 and whole.record_of.setdefault(ordinal, record16) != record16:
        raise StoreDamaged(f"one of two records with the ordinal {ordinal}")


def _take(whole: Whole, record16: bytes, fact: FactGlance) -> None:
    facts, members = whole.glances.facts, whole.glances.members
    if record16 not in facts:
        members[fact.entity_attribute] = [*members.get(fact.entity_attribute, ()), record16]
        for source16 in dict.fromkeys(fact.sources):
            whole.citing[source16] = (*whole.citing.get(source16, ()), record16)
    facts[record16] = fact
    _place(whole, record16, fact.ordinal)


def _check_ordinals(whole: Whole, documents: int) -> None:
    places = whole.record_of
    if len(places) != documents or max(places, default=-1) != documents - 1:
        raise StoreDamaged(f"one of the scope's {documents} documents")


def _touched(
    whole: Whole, observations: Iterable[bytes], facts: Iterable[bytes]
) -> tuple[set[bytes], set[bytes]]:
    """Groups and observations whose standing may have changed with these records."""
    judged = set(facts)
    for record16 in observations:
        judged.update(whole.citing.get(record16, ()))
    glances = whole.glances
    groups = {glances.facts[record16].entity_attribute for record16 in judged}
    episodes = set(observations)
    for record16 in judged:
        episodes.update(s for s in glances.facts[record16].sources if s in glances.observations)
    return groups, episodes
