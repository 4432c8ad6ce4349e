"""What of a scope may be seen, ready to be searched, and kept while it stays so (SPEC §8).

Rules
- A kept view is used for the very state that it was made from: the scope's head, the policy's
  version, the evidence asked for, and an instant of the stretch in which nothing changes. Whatever
  retracts, deletes or covers moves the head (docs/semantics.md §11), so nothing stale is ever
  served, also while a view is being made (field failure 27).
- Kept are one view a scope and about `capacity` bytes in all; the longest unasked goes first.
- What is served is read from the rows again: a view only says where to look.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gateway.asked import Asked, ScopeHead
from projections.lexical import Tail
from projections.lexical_rows import blocks_of, tail_of
from projections.sights import Sight, Standing, lasts, stretch
from projections.state import Reader
from projections.terms import Texts
from projections.visible import Glances, Viewer
from projections.whole import Whole, look_at_whole
from schemas.intervals import Bound

CAPACITY = 64 * 1024 * 1024
"""Bytes of views that a gateway keeps: about 50 scopes of a thousand events."""

EMBEDDED_CAPACITY = 2 * CAPACITY
"""One process instead of worker and gateway has the memory of both."""

WHOLE = 4096
"""Documents of a scope that is looked at as a whole; of a larger one it is the tail."""

_SIGHT_BYTES = 900  # its text left out; 600 by tracemalloc, and more on the safe side
Names = dict[str, list[Sight]]
"""Facts and conflicts, one sight each, by their normalised entities, attributes and values."""


class ScopeView(NamedTuple):
    """A scope's tail as it is seen at every instant of [`since`, `until`).

    `blocks` are how many blocks of postings lie before the tail; none does where the whole scope
    was looked at. `complete` unless facts were left out since too many have their key.
    """

    state: tuple[ScopeHead, bytes, int | None]
    since: int | None
    until: Bound
    blocks: int
    sights: dict[int, Sight]
    standing: dict[bytes, Standing]
    names: Names
    tail: Tail
    whole: Whole | None
    complete: bool
    size: int

    def serves(self, asked: Asked) -> bool:
        """Whether it is what would be made now."""
        assert asked.valid_at is not None
        return self.state == _state(asked) and lasts(self.since, self.until, asked.valid_at)


def _state(asked: Asked) -> tuple[ScopeHead, bytes, int | None]:
    return asked.head, asked.policy.version, asked.recorded_at


class Views:
    """The views of one gateway, `size` bytes in all; safe for many threads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[bytes, ScopeView] = OrderedDict()
        self.size = 0
        self._lock = threading.Lock()

    def view(self, reader: Reader, asked: Asked) -> ScopeView:
        """What is seen of the asked scope's tail, from the reader's state."""
        with self._lock:
            kept = self._kept.get(asked.scope)
            if kept is not None and kept.serves(asked):
                self._kept.move_to_end(asked.scope)
                return kept
        made = look(reader, asked, kept)
        self._keep(asked.scope, made)
        return made

    def _keep(self, scope16: bytes, made: ScopeView) -> None:
        with self._lock:
            self._drop(scope16)
            self._kept[scope16] = made
            self.size += made.size
            while self.size > self._capacity:
                self._drop(next(iter(self._kept)))

    def forget(self, scopes: Iterable[bytes]) -> None:
        """Let go what is kept of scopes (by hash), so that no erased text stays behind."""
        with self._lock:
            for scope16 in scopes:
                self._drop(scope16)

    def _drop(self, scope16: bytes) -> None:
        dropped = self._kept.pop(scope16, None)
        if dropped is not None:
            self.size -= dropped.size


def look(reader: Reader, asked: Asked, kept: ScopeView | None = None) -> ScopeView:
    """Make a view; `kept` is an earlier one of the same scope."""
    assert asked.valid_at is not None
    documents = asked.head.documents
    frame = (reader, asked.scope, asked.horizon, asked.policy, asked.valid_at)
    if documents <= WHOLE and not asked.horizon.blocked:
        whole = look_at_whole(*frame, documents, None if kept is None else kept.whole)
        if whole is not None:
            made = whole.sights(), whole.standing
            return _view(asked, *made, 0, whole, kept, complete=True)
    viewer = Viewer(*frame, Glances({}, {}, {}), {})
    sights = viewer.see(tail_of(documents)[::-1])[::-1]  # the newest keys first
    blocks = blocks_of(documents)
    return _view(asked, sights, viewer.standing, blocks, None, kept, complete=viewer.complete)


def _view(
    asked: Asked,
    sights: list[Sight],
    standing: dict[bytes, Standing],
    blocks: int,
    whole: Whole | None,
    kept: ScopeView | None,
    *,
    complete: bool,
) -> ScopeView:
    texts = Texts([sight.text for sight in sights], None if kept is None else kept.tail.texts)
    size = texts.size + _SIGHT_BYTES * len(sights)
    since, until = stretch(standing.values())
    return ScopeView(
        _state(asked),
        since,
        until,
        blocks,
        {sight.ordinal: sight for sight in sights},
        standing,
        names_of(standing.values()),
        Tail(np.array([sight.ordinal for sight in sights], np.int64), texts),
        whole,
        complete,
        size,
    )


def names_of(groups: Iterable[Standing]) -> Names:
    """Whom a name stands for."""
    found: Names = {}
    for group in groups:
        for candidate, sight in {one.candidate: one for one in group.sights.values()}.items():
            for name in candidate.keys:
                found.setdefault(name, []).append(sight)
    return found
