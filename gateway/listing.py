"""The lists: facts, history, conflicts, episodes, and the audit's facts (INTERFACE "HTTP").

Every list is in order of recording and paged by a cursor that holds the snapshot it began with, so
writes in between neither skip nor repeat an item; what is retracted or deleted meanwhile is gone
from later pages.

Here is where the items of each stand, from rows alone, and how one is made (`gateway.paging`).
Evidence is that of the instant at which the list began, in every turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from gateway.asked import Asked
from gateway.paging import Item, SortKey, Standings, Turn
from gateway.render import (
    asserted_by,
    conflict_answer,
    episode_answer,
    evidence,
    fact_answer,
    superseded_by,
)
from projections import keys
from projections.glances import AssertionGlance, fact_glances
from projections.rows import FactRow, ObservationRow, Present, Row
from projections.support import Horizon, Status, judge, public_horizon
from projections.view import Conflict, Group, Member, episode_visible
from schemas import answers
from schemas.errors import StoreDamaged
from schemas.events import Assertion
from schemas.intervals import holds
from schemas.kinds import Reason
from schemas.normalise import normalise_key
from schemas.reasons import explain
from schemas.sealing import Hasher
from schemas.times import format_instant
from schemas.values import json_value

CHUNK = 1000  # rows looked at in bulk
GROUPS = 16  # judged in one turn


class Wanted(NamedTuple):
    """Filters by normalised names; None is every."""

    entity: str | None
    attribute: str | None

    def fits(self, event: Assertion | AssertionGlance) -> bool:
        """Whether a fact's names are the wanted ones."""
        return (self.entity is None or normalise_key(event.entity) == self.entity) and (
            self.attribute is None or normalise_key(event.attribute) == self.attribute
        )


def wanted(entity: str | None, attribute: str | None) -> Wanted:
    """Filters as given by a caller."""
    return Wanted(
        None if entity is None else normalise_key(entity),
        None if attribute is None else normalise_key(attribute),
    )


class Place(NamedTuple):
    """Where a fact stands: τ of its first entry, its hash, its group's."""

    recorded_at: int
    record: bytes
    group: bytes


def _rows(turn: Turn, prefix: bytes) -> Iterator[tuple[bytes, Row]]:
    """Rows under a prefix, in bulk a turn; one that is written meanwhile may be met or not."""
    start = prefix
    while True:
        with turn() as reader:
            chunk = list(islice(reader.scan(prefix, start), CHUNK))
        yield from chunk
        if len(chunk) < CHUNK:
            return
        start = chunk[-1][0] + b"\0"


def _places(turn: Turn, asked: Asked, want: Wanted, hasher: Hasher) -> list[Place]:
    """The facts that the horizon knows: of one group if both names are given, else of all."""
    with turn() as reader:
        if want.entity is None or want.attribute is None:
            prefix = keys.groups(asked.scope)
        else:
            attribute16 = hasher.entity_attribute(asked.scope, want.entity, want.attribute)
            reader.members(asked.scope, attribute16)  # as many as there are to be
            prefix = keys.group(asked.scope, attribute16)
    at = len(keys.groups(asked.scope))
    found = []
    for key, row in _rows(turn, prefix):
        assert isinstance(row, Present)
        if asked.horizon.knows(row.since):
            found.append(Place(row.since, key[at + 16 :], key[at : at + 16]))
    return found


def _decided(
    turn: Turn, asked: Asked, want: Wanted, hasher: Hasher
) -> Iterator[tuple[SortKey, bytes]]:
    """Sort key and group of each fact that was decided within the horizon and may be wanted."""
    if asked.horizon.blocked:
        return
    places = iter(_places(turn, asked, want, hasher))
    while chunk := list(islice(places, CHUNK)):
        with turn() as reader:
            glances = fact_glances(reader, asked.scope, [place.record for place in chunk])
        for place in chunk:
            glance = glances[place.record]
            if (
                glance.decided_at
                and asked.horizon.knows(glance.decided_at)
                and (glance.event is None or want.fits(glance.event))
            ):
                yield (glance.decided_at, place.record), place.group


def facts(turn: Turn, asked: Asked, after: SortKey, want: Wanted, hasher: Hasher) -> Iterable[Item]:
    """Public facts at the instant, or at some instant."""

    def show(record16: bytes, group16: bytes, standings: Standings) -> answers.Fact | None:
        member = standings.public(group16).get(record16)
        if member is None or not want.fits(member.event):
            return None
        return fact_answer(standings.reader, asked.scope, member.row, asked.horizon, "active", None)

    places = _decided(turn, asked, want, hasher)
    return [Item(key, partial(show, key[1], group)) for key, group in sorted(places) if key > after]


def history(
    turn: Turn, asked: Asked, after: SortKey, want: Wanted, hasher: Hasher
) -> Iterable[Item]:
    """Every period of the key whenever valid; superseded, disputed and expired ones marked."""

    def show(record16: bytes, group16: bytes, standings: Standings) -> answers.Fact | None:
        member = standings.group(group16).members.get(record16)
        if member is None or not member.eligible or not want.fits(member.event):
            return None
        status, by = standings.marks(group16).get(record16, ("active", None))
        if status == "active" and member.row.expired:
            status = "expired"
        return fact_answer(standings.reader, asked.scope, member.row, asked.horizon, status, by)

    places = _decided(turn, asked, want, hasher)
    return [Item(key, partial(show, key[1], group)) for key, group in sorted(places) if key > after]


def conflicts(
    turn: Turn, asked: Asked, after: SortKey, want: Wanted, hasher: Hasher
) -> Iterable[Item]:
    """Conflict sets at the instant, or all of them."""

    def show(key: SortKey, group16: bytes, standings: Standings) -> answers.Conflict | None:
        for conflict in _conflicts(standings.group(group16), asked, want):
            if _conflict_key(conflict) == key:
                return conflict_answer(
                    standings.reader,
                    asked.scope,
                    [side.row for side in conflict.sides],
                    [side.event.fact_id for side in conflict.sides],
                    (conflict.start, conflict.end),
                    asked.horizon,
                )
        return None

    sizes = Counter(group16 for _, group16 in _decided(turn, asked, want, hasher))
    rivals = iter([group16 for group16, size in sizes.items() if size > 1])
    found = []
    while chunk := list(islice(rivals, GROUPS)):
        with turn() as reader:
            standings = Standings(reader, asked)
            for group16 in chunk:
                for conflict in _conflicts(standings.group(group16), asked, want):
                    if (key := _conflict_key(conflict)) > after:
                        found.append(Item(key, partial(show, key, group16)))
    return sorted(found, key=lambda item: item.key)


def _conflicts(group: Group, asked: Asked, want: Wanted) -> Iterator[Conflict]:
    for conflict in group.conflicts():
        at = asked.valid_at
        now = at is None or holds(conflict.start, conflict.end, at)
        if now and any(want.fits(side.event) for side in conflict.sides):
            yield conflict


def _conflict_key(conflict: Conflict) -> SortKey:
    first = min((side.row.decided_at, side.record) for side in conflict.sides)
    return first[0], first[1] + conflict.start.to_bytes(9, "big", signed=True)


def episodes(turn: Turn, asked: Asked, after: SortKey) -> Iterable[Item]:
    """Testimony; valid time does not apply."""

    def show(record16: bytes, standings: Standings) -> answers.Episode | None:
        reader = standings.reader
        row = reader.observation(asked.scope, record16)
        if row is None:
            raise StoreDamaged(f"observation {record16.hex()}")
        seen = episode_visible(reader, asked.scope, record16, row, asked.horizon, asked.policy)
        return episode_answer(row) if seen else None

    prefix = keys.observations(asked.scope)
    found = []
    for key, row in _rows(turn, prefix):
        assert isinstance(row, ObservationRow)
        at = (row.recorded_at, key[len(prefix) :])
        if row.event is not None and asked.horizon.knows(row.recorded_at) and at > after:
            found.append(Item(at, partial(show, at[1])))
    return sorted(found, key=lambda item: item.key)


def audit_facts(
    turn: Turn, asked: Asked, after: SortKey, want: Wanted, hasher: Hasher
) -> Iterable[Item]:
    """Assertions of every status with the cause.

    Without its content is what was deleted or covered, then or since: an audit of the past revives
    nothing (SPEC §10).
    """

    def show(record16: bytes, group16: bytes, standings: Standings) -> answers.AuditFact | None:
        reader = standings.reader
        row = reader.fact(asked.scope, record16)
        if row is None:
            raise StoreDamaged(f"fact {record16.hex()}")
        shown = public_horizon(reader, asked.subject, asked.horizon.evidence)
        return _audit_fact(standings, shown, group16, record16, row, want)

    places = sorted(_places(turn, asked, want, hasher))
    return [
        Item((place.recorded_at, place.record), partial(show, place.record, place.group))
        for place in places
        if (place.recorded_at, place.record) > after
    ]


def _audit_fact(
    standings: Standings,
    shown: Horizon,
    group16: bytes,
    record16: bytes,
    row: FactRow,
    want: Wanted,
) -> answers.AuditFact | None:
    reader, asked = standings.reader, standings.asked
    status, reason = judge(reader, asked.scope, record16, row, asked.horizon)
    now = status if not asked.historical else judge(reader, asked.scope, record16, row, shown)[0]
    gone = shown.blocked or not {status, now}.isdisjoint((Status.DELETED, Status.COVERED))
    event = None if gone else row.event
    if event is None and want != Wanted(None, None):
        return None
    if event is not None and not want.fits(event):
        return None
    word, by, reason = _audit_status(standings, group16, record16, row, status, reason)
    fault = explain(reason)
    return answers.AuditFact(
        fact_id=None if event is None else event.fact_id,
        entity=None if event is None else event.entity,
        attribute=None if event is None else event.attribute,
        value=None if event is None else json_value(event.value),
        type=None if event is None else event.value.type,
        valid_from=None if event is None else format_instant(event.valid_from),
        valid_to=None
        if event is None or event.valid_to is None
        else format_instant(event.valid_to),
        recorded_at=format_instant(row.decided_at or row.recorded_at),
        status=word,
        cause=None
        if fault is None
        else answers.Reason(
            code=fault.code, field=fault.field, detail=fault.detail, remedy=fault.remedy
        ),
        confidence=None if event is None else event.confidence,
        asserted_by=None if event is None else asserted_by(row),
        evidence=() if event is None else evidence(reader, asked.scope, row, shown),
        supersedes=None if event is None else event.supersedes,
        superseded_by=superseded_by(by),
    )


def _audit_status(
    standings: Standings,
    group16: bytes,
    record16: bytes,
    row: FactRow,
    status: Status,
    reason: Reason,
) -> tuple[str, Member | None, Reason]:
    group, asked = standings.group(group16), standings.asked
    if status is not Status.ACCEPTED:
        return status.word, None, reason
    member = group.members.get(record16)
    if member is None:
        return "parked", None, Reason.AWAITING_PREMISES
    if member.retracted:
        return "retracted", None, Reason.NONE
    if asked.valid_at is None:
        word, by = standings.marks(group16).get(record16, ("active", None))
    else:
        standing = group.at(asked.valid_at)
        by = standing.superseded.get(record16)
        disputed = any(side.record == record16 for side in standing.conflict)
        word = "superseded" if by is not None else "disputed" if disputed else "active"
    if word == "active" and row.expired:
        word = "expired"
    return word, by, Reason.NONE
