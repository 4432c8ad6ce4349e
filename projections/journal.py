"""Which records of a scope were written since somebody looked at it (SPEC §8).

Rules
- A journal begins when a scope is looked at and then has the key of every observation and fact of
  it that is written, in order. It stands where all writes pass, and is written within the lock that
  keeps readers out, so a reader's journal and its rows are of one state.
- It lasts as long as somebody holds it, and ends when it is too long: `of` then begins another one,
  and who holds the old one looks afresh.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakValueDictionary

from projections import keys
from projections.ports import KeyValueStore

LONGEST = 4096

_RECORDS = frozenset((keys.observations(b"")[0], keys.facts(b"")[0]))
_SCOPE = slice(1, 17)


class Journal(list[bytes]):
    """Keys in order of writing; a class of its own, since a plain list cannot be held weakly."""


class Journals:
    """The journals of one store's scopes."""

    def __init__(self) -> None:
        self._of: WeakValueDictionary[bytes, Journal] = WeakValueDictionary()

    def of(self, scope16: bytes) -> Journal:
        """A scope's journal, begun if there is none."""
        journal = self._of.get(scope16)
        if journal is None:
            journal = self._of[scope16] = Journal()
        return journal

    def note(self, written: Iterable[bytes]) -> None:
        """Keys of whatever rows were written."""
        journals = self._of
        if not journals:
            return
        for key in written:
            if key[0] in _RECORDS:
                journal = journals.get(key[_SCOPE])
                if journal is not None:
                    journal.append(key)
                    if len(journal) > LONGEST:
                        del journals[key[_SCOPE]]


def journal_of(store: KeyValueStore, scope16: bytes) -> Journal | None:
    """The journal of a scope in a store that keeps journals, or in one that it stands over."""
    at: Any = store
    while at is not None:
        journals = getattr(at, "journals", None)
        if journals is not None:
            found: Journal = journals.of(scope16)
            return found
        at = getattr(at, "inner", None)
    return None
