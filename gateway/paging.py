"""Pages of a list, made in turns, so that a huge scope does not stop who writes (SPEC §5).

A list first says where its items stand; a page then makes those that it shows, a few a turn. What
was judged is forgotten with its turn: the next one sees what was written in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import islice
from typing import NamedTuple

from gateway.asked import Asked
from projections.state import Reader
from projections.view import Group, Member
from schemas import answers

SortKey = tuple[int, bytes]
Turn = Callable[[], AbstractContextManager[Reader]]
Marks = dict[bytes, tuple[str, Member | None]]

SHOWN = 200  # items made in one turn
KEPT = 256
PAGE_BYTES = 8 * 1024 * 1024  # of contents and quotes; a page that reaches them ends
FIRST: SortKey = (-(2**63), b"")  # before every item


class Standings:
    """What a turn has judged: groups as they stand now, each once while few are asked for."""

    def __init__(self, reader: Reader, asked: Asked) -> None:
        self.reader = reader
        self.asked = asked
        self._groups: dict[bytes, Group] = {}
        self._public: dict[bytes, dict[bytes, Member]] = {}
        self._marks: dict[bytes, Marks] = {}

    def group(self, attribute16: bytes) -> Group:
        """A group under the question's horizon."""
        found = self._groups.get(attribute16)
        if found is None:
            if len(self._groups) >= KEPT:
                for kept in (self._groups, self._public, self._marks):
                    kept.clear()
            asked = self.asked
            found = Group(self.reader, asked.scope, attribute16, asked.horizon, asked.policy)
            self._groups[attribute16] = found
        return found

    def public(self, attribute16: bytes) -> dict[bytes, Member]:
        """The group's public facts by record, at the instant or at some instant."""
        group, at = self.group(attribute16), self.asked.valid_at
        if attribute16 not in self._public:
            members = group.public_ever() if at is None else group.at(at).public
            self._public[attribute16] = {member.record: member for member in members}
        return self._public[attribute16]

    def marks(self, attribute16: bytes) -> Marks:
        """What befalls the group's members at some instant."""
        group = self.group(attribute16)
        if attribute16 not in self._marks:
            self._marks[attribute16] = _marks(group)
        return self._marks[attribute16]


class Item(NamedTuple):
    """Where an answer stands in its list, and what makes it; None where nothing is to be shown."""

    key: SortKey
    show: Callable[[Standings], answers.Answer | None]


def page(
    turn: Turn, asked: Asked, items: Iterable[Item], limit: int
) -> tuple[tuple[answers.Answer, ...], SortKey | None]:
    """The first answers, at most `limit`, and the key of the last one if there are more."""
    shown: list[answers.Answer] = []
    last, size, coming = FIRST, 0, iter(items)
    while chunk := list(islice(coming, min(SHOWN, limit + 1))):
        with turn() as reader:
            standings = Standings(reader, asked)
            for item in chunk:
                answer = item.show(standings)
                if answer is None:
                    continue
                if len(shown) == limit or size >= PAGE_BYTES:
                    return tuple(shown), last
                shown.append(answer)
                last, size = item.key, size + _size(answer)
    return tuple(shown), None


def _size(answer: answers.Answer) -> int:
    """Characters of what may be large in an answer."""
    if isinstance(answer, answers.Episode):
        return len(answer.content or "")
    if isinstance(answer, answers.Fact | answers.AuditFact):
        return len(str(answer.value)) + sum(len(cited.quote) for cited in answer.evidence)
    if isinstance(answer, answers.Conflict):
        return sum(map(_size, answer.sides))
    return 0


def _marks(group: Group) -> Marks:
    """What befalls each member at some instant: superseded before disputed."""
    marks: Marks = {}
    for t in group.instants():
        standing = group.at(t)
        for side in standing.conflict:
            marks.setdefault(side.record, ("disputed", None))
        for record16, by in standing.superseded.items():
            marks[record16] = ("superseded", by)
    return marks
