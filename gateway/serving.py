"""What recall serves, read and judged from the rows at the time of serving (SPEC §5).

A view of the scope only says where to look. The document that was hit must still name the record,
the record that document, and the record's own status must be what the view said; otherwise an index
row was altered, injected or dropped, and the read stops.
"""

from __future__ import annotations

from gateway.asked import Asked
from gateway.render import conflict_answer, episode_answer, fact_answer
from projections.fold_assertions import fact_text
from projections.rows import FactRow, ObservationRow
from projections.state import Reader
from projections.view import Group, Member, episode_visible
from projections.visible import Sight, kind_of
from schemas import answers
from schemas.errors import StoreDamaged


class Serving:
    """Makes results of sights, from one consistent state."""

    def __init__(self, reader: Reader, asked: Asked) -> None:
        assert asked.valid_at is not None
        self._reader = reader
        self._asked = asked
        self._at = asked.valid_at
        self._groups: dict[bytes, Group] = {}

    def result(self, sight: Sight, score: float, legs: tuple[str, ...]) -> answers.RecallResult:
        """The result that a sight stands for; raises `StoreDamaged` if it is not what it seemed."""
        if kind_of(sight) == "episode":
            return self._episode(sight, score, legs)
        if kind_of(sight) == "fact":
            return self._fact(sight, score, legs)
        return self._conflict(sight, score, legs)

    def _episode(self, sight: Sight, score: float, legs: tuple[str, ...]) -> answers.RecallResult:
        reader, asked = self._reader, self._asked
        row = reader.observation(asked.scope, sight.record)
        self._confirm(sight, row)
        assert row is not None
        if not episode_visible(reader, asked.scope, sight.record, row, asked.horizon, asked.policy):
            raise _misled(sight)
        episode = episode_answer(row)
        if episode.content != sight.text:
            raise _misled(sight)
        return answers.EpisodeResult(
            id=episode.event_id,
            score=score,
            legs=legs,
            text=sight.text,
            releasable=False,
            complete=True,
            episode=episode,
        )

    def _fact(self, sight: Sight, score: float, legs: tuple[str, ...]) -> answers.RecallResult:
        asked = self._asked
        group, member = self._member(sight)
        if member not in group.at(self._at).public:
            raise _misled(sight)
        fact = fact_answer(self._reader, asked.scope, group, member, asked.horizon, "active", None)
        return answers.FactResult(
            id=fact.fact_id,
            score=score,
            legs=legs,
            text=sight.text,
            releasable=not asked.historical,
            complete=True,
            fact=fact,
        )

    def _conflict(self, sight: Sight, score: float, legs: tuple[str, ...]) -> answers.RecallResult:
        asked = self._asked
        group, member = self._member(sight)
        found = group.conflict_at(self._at)
        if found is None or member not in found.sides:
            raise _misled(sight)
        conflict = conflict_answer(self._reader, asked.scope, group, found, asked.horizon)
        return answers.ConflictResult(
            id=conflict.conflict_id,
            score=score,
            legs=legs,
            text=" | ".join(f"{s.entity} {s.attribute} {s.value}" for s in conflict.sides),
            releasable=False,
            complete=True,
            conflict=conflict,
        )

    def _member(self, sight: Sight) -> tuple[Group, Member]:
        """The fact among the facts of its key."""
        reader, asked = self._reader, self._asked
        row = reader.fact(asked.scope, sight.record)
        self._confirm(sight, row)
        assert row is not None
        group = self._groups.get(row.entity_attribute)
        if group is None:
            group = Group(reader, asked.scope, row.entity_attribute, asked.horizon, asked.policy)
            self._groups[row.entity_attribute] = group
        member = group.members.get(sight.record)
        if member is None or fact_text(member.event) != sight.text:
            raise _misled(sight)
        return group, member

    def _confirm(self, sight: Sight, row: FactRow | ObservationRow | None) -> None:
        """Document and record must name each other."""
        document = self._reader.document(self._asked.scope, sight.ordinal)
        if document is None or document.record != sight.record:
            raise StoreDamaged(f"document {sight.ordinal}")
        if row is None or row.ordinal != sight.ordinal:
            raise StoreDamaged(f"record {sight.record.hex()}")


def _misled(sight: Sight) -> StoreDamaged:
    return StoreDamaged(f"what the index says of record {sight.record.hex()}")
