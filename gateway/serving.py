"""What recall serves, read and judged from the rows at the time of serving (SPEC §5).

Rules
- A view of the scope only says where to look. The document that was hit must still name the record,
  the record that document, and the record must say and be what the view said; otherwise an index
  row was altered, injected or dropped, and the read stops.
- A conflict is served with all its sides, up to `SIDES` of them; one with more says that it is not
  `complete`. Its id follows from all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.asked import Asked
from gateway.render import conflict_answer, episode_answer, fact_answer
from projections.lexical_rows import fact_text
from projections.rows import FactRow, ObservationRow, Row
from projections.sights import Said, Sight
from projections.state import Reader
from projections.support import judge_all
from projections.view import episode_visible
from schemas import answers
from schemas.errors import StoreDamaged
from schemas.intervals import earlier, holds

SIDES = 100
"""How many sides of a conflict one result holds at most, the first by fact id."""


class _Once(Reader):
    """Rows of one state, each read once: a fact's sources are judged and quoted."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._rows: dict[bytes, Row | None] = {}

    def row(self, key: bytes) -> Row | None:
        """The row under a key."""
        if key not in self._rows:
            self._rows[key] = self._reader.row(key)
        return self._rows[key]


class Serving:
    """Makes results of sights, from one consistent state."""

    def __init__(self, reader: Reader, asked: Asked) -> None:
        assert asked.valid_at is not None
        self._reader = _Once(reader)
        self._asked = asked
        self._at = asked.valid_at

    def result(self, sight: Sight, score: float, legs: tuple[str, ...]) -> answers.RecallResult:
        """The result that a sight stands for; raises `StoreDamaged` if it is not what it seemed."""
        make = {"episode": self._episode, "fact": self._fact, "conflict": self._conflict}
        return make[sight.candidate.kind](sight, score, legs)

    def _episode(self, sight: Sight, score: float, legs: tuple[str, ...]) -> answers.RecallResult:
        reader, asked = self._reader, self._asked
        row = reader.observation(asked.scope, sight.record)
        self._confirm(sight, row)
        assert row is not None
        if not episode_visible(reader, asked.scope, sight.record, row, asked.horizon, asked.policy):
            raise _misled(sight.record)
        episode = episode_answer(row)
        if episode.content != sight.text:
            raise _misled(sight.record)
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
        (row,) = self._rows(sight, sight.candidate.said)
        fact = fact_answer(self._reader, asked.scope, row, asked.horizon, "active", None)
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
        asked, candidate = self._asked, sight.candidate
        assert candidate.overlap is not None
        said = sorted(candidate.said, key=lambda one: one.fact_id)
        conflict = conflict_answer(
            self._reader,
            asked.scope,
            self._rows(sight, said[:SIDES]),
            [one.fact_id for one in said],
            candidate.overlap,
            asked.horizon,
        )
        return answers.ConflictResult(
            id=conflict.conflict_id,
            score=score,
            legs=legs,
            text=" | ".join(f"{s.entity} {s.attribute} {s.value}" for s in conflict.sides),
            releasable=False,
            complete=len(said) <= SIDES,
            conflict=conflict,
        )

    def _rows(self, sight: Sight, said: Sequence[Said]) -> list[FactRow]:
        """The rows of facts that must say this, be eligible and hold."""
        reader, asked = self._reader, self._asked
        self._confirm(sight, reader.fact(asked.scope, sight.record))
        rows: dict[bytes, FactRow] = {}
        for one in said:
            row = reader.fact(asked.scope, one.record)
            if row is None or row.event is None or fact_text(row.event) != one.text:
                raise _misled(one.record)
            end = earlier(row.event.valid_to, row.event.expires_at)
            if not holds(row.event.valid_from, end, self._at):
                raise _misled(one.record)
            rows[one.record] = row
        verdicts = judge_all(reader, asked.scope, rows, asked.horizon)
        for record16, row in rows.items():
            since = verdicts[record16].grounded_at
            retracted = asked.horizon.retracted(row.retractions)
            if since is None or retracted or not asked.horizon.knows(since):
                raise _misled(record16)
        return list(rows.values())

    def _confirm(self, sight: Sight, row: FactRow | ObservationRow | None) -> None:
        """Document and record must name each other."""
        document = self._reader.document(self._asked.scope, sight.ordinal)
        if document is None or document.record != sight.record:
            raise StoreDamaged(f"document {sight.ordinal}")
        if row is None or row.ordinal != sight.ordinal:
            raise StoreDamaged(f"record {sight.record.hex()}")


def _misled(record16: bytes) -> StoreDamaged:
    return StoreDamaged(f"what the index says of record {record16.hex()}")
