"""The lists: facts, history, conflicts, episodes, and the audit's facts (INTERFACE "HTTP").

Every list is in order of recording and paged by a cursor that holds the snapshot it began with, so
writes in between neither skip nor repeat an item; what is retracted or deleted meanwhile is gone
from later pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gateway.asked import Asked
from gateway.render import (
    asserted_by,
    conflict_answer,
    episode_answer,
    evidence,
    fact_answer,
    superseded_by,
)
from projections import keys
from projections.rows import FactRow, ObservationRow
from projections.state import Reader
from projections.support import Horizon, Status, judge, public_horizon
from projections.view import Group, Member, episode_visible, groups
from schemas import answers
from schemas.intervals import holds
from schemas.kinds import Reason
from schemas.normalise import normalise_key
from schemas.reasons import explain
from schemas.sealing import Hasher
from schemas.times import format_instant
from schemas.values import json_value

SortKey = tuple[int, bytes]


class Item(NamedTuple):
    """An answer and where it stands in its list."""

    key: SortKey
    answer: answers.Answer


class Wanted(NamedTuple):
    """Filters by normalised names; None is every."""

    entity: str | None
    attribute: str | None

    def fits(self, member: Member) -> bool:
        """Whether a fact's names are the wanted ones."""
        event = member.event
        return (self.entity is None or normalise_key(event.entity) == self.entity) and (
            self.attribute is None or normalise_key(event.attribute) == self.attribute
        )


def wanted(entity: str | None, attribute: str | None) -> Wanted:
    """Filters as given by a caller."""
    return Wanted(
        None if entity is None else normalise_key(entity),
        None if attribute is None else normalise_key(attribute),
    )


def wanted_groups(reader: Reader, asked: Asked, want: Wanted, hasher: Hasher) -> Iterator[Group]:
    """The groups that can hold wanted facts: one if both names are given, else all."""
    if asked.horizon.blocked:
        return
    if want.entity is not None and want.attribute is not None:
        attribute16 = hasher.entity_attribute(asked.scope, want.entity, want.attribute)
        yield Group(reader, asked.scope, attribute16, asked.horizon, asked.policy)
        return
    for _, group in groups(reader, asked.scope, asked.horizon, asked.policy):
        yield group


def _key(member: Member) -> SortKey:
    return member.row.decided_at, member.record


def facts(reader: Reader, asked: Asked, want: Wanted, hasher: Hasher) -> list[Item]:
    """Public facts at the instant, or at some instant."""
    found = []
    for group in wanted_groups(reader, asked, want, hasher):
        public = group.public_ever() if asked.valid_at is None else group.at(asked.valid_at).public
        for member in public:
            if want.fits(member):
                answer = fact_answer(reader, asked.scope, member.row, asked.horizon, "active", None)
                found.append(Item(_key(member), answer))
    return found


def history(reader: Reader, asked: Asked, want: Wanted, hasher: Hasher) -> list[Item]:
    """Every period of the key whenever valid; superseded, disputed and expired ones marked."""
    found = []
    for group in wanted_groups(reader, asked, want, hasher):
        marks = _marks(group)
        for member in group.members.values():
            if not member.eligible or not want.fits(member):
                continue
            status, by = marks.get(member.record, ("active", None))
            if status == "active" and member.row.expired:
                status = "expired"
            answer = fact_answer(reader, asked.scope, member.row, asked.horizon, status, by)
            found.append(Item(_key(member), answer))
    return found


def _marks(group: Group) -> dict[bytes, tuple[str, Member | None]]:
    """What befalls each member at some instant: superseded before disputed."""
    marks: dict[bytes, tuple[str, Member | None]] = {}
    for t in group.instants():
        standing = group.at(t)
        for side in standing.conflict:
            marks.setdefault(side.record, ("disputed", None))
        for record16, by in standing.superseded.items():
            marks[record16] = ("superseded", by)
    return marks


def conflicts(reader: Reader, asked: Asked, want: Wanted, hasher: Hasher) -> list[Item]:
    """Conflict sets at the instant, or all of them."""
    found = []
    for group in wanted_groups(reader, asked, want, hasher):
        for conflict in group.conflicts():
            at = asked.valid_at
            if at is not None and not holds(conflict.start, conflict.end, at):
                continue
            if not any(want.fits(side) for side in conflict.sides):
                continue
            first = min(_key(side) for side in conflict.sides)
            key = (first[0], first[1] + conflict.start.to_bytes(9, "big", signed=True))
            answer = conflict_answer(
                reader,
                asked.scope,
                [side.row for side in conflict.sides],
                [side.event.fact_id for side in conflict.sides],
                (conflict.start, conflict.end),
                asked.horizon,
            )
            found.append(Item(key, answer))
    return found


def episodes(reader: Reader, asked: Asked) -> list[Item]:
    """Testimony; valid time does not apply."""
    prefix = keys.observations(asked.scope)
    found = []
    for key, row in reader.scan(prefix):
        assert isinstance(row, ObservationRow)
        record16 = key[len(prefix) :]
        if episode_visible(reader, asked.scope, record16, row, asked.horizon, asked.policy):
            found.append(Item((row.recorded_at, record16), episode_answer(row)))
    return found


def audit_facts(reader: Reader, asked: Asked, want: Wanted, hasher: Hasher) -> list[Item]:
    """Assertions of every status with the cause.

    Without its content is what was deleted or covered, then or since: an audit of the past revives
    nothing (SPEC §10).
    """
    shown = public_horizon(reader, asked.subject, asked.recorded_at)
    prefix = keys.facts(asked.scope)
    found = []
    standing: dict[bytes, Group] = {}
    for key, row in reader.scan(prefix):
        assert isinstance(row, FactRow)
        if not asked.horizon.knows(row.recorded_at):
            continue
        record16 = key[len(prefix) :]
        attribute16 = row.entity_attribute
        group = standing.get(attribute16)
        if group is None:
            group = Group(reader, asked.scope, attribute16, asked.horizon, asked.policy)
            standing[attribute16] = group
        item = _audit_fact(reader, asked, shown, group, record16, row, want)
        if item is not None:
            found.append(Item((row.recorded_at, record16), item))
    return found


def _audit_fact(
    reader: Reader,
    asked: Asked,
    shown: Horizon,
    group: Group,
    record16: bytes,
    row: FactRow,
    want: Wanted,
) -> answers.AuditFact | None:
    status, reason = judge(reader, asked.scope, record16, row, asked.horizon)
    now = status if not asked.historical else judge(reader, asked.scope, record16, row, shown)[0]
    gone = shown.blocked or not {status, now}.isdisjoint((Status.DELETED, Status.COVERED))
    event = None if gone else row.event
    if event is None and want != Wanted(None, None):
        return None
    if event is not None:
        fits = (want.entity in (None, normalise_key(event.entity))) and (
            want.attribute in (None, normalise_key(event.attribute))
        )
        if not fits:
            return None
    word, by, reason = _audit_status(asked, group, record16, row, status, reason)
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
    asked: Asked, group: Group, record16: bytes, row: FactRow, status: Status, reason: Reason
) -> tuple[str, Member | None, Reason]:
    if status is not Status.ACCEPTED:
        return status.word, None, reason
    member = group.members.get(record16)
    if member is None:
        return "parked", None, Reason.AWAITING_PREMISES
    if member.retracted:
        return "retracted", None, Reason.NONE
    if asked.valid_at is None:
        word, by = _marks(group).get(record16, ("active", None))
    else:
        standing = group.at(asked.valid_at)
        by = standing.superseded.get(record16)
        disputed = any(side.record == record16 for side in standing.conflict)
        word = "superseded" if by is not None else "disputed" if disputed else "active"
    if word == "active" and row.expired:
        word = "expired"
    return word, by, Reason.NONE
