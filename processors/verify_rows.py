"""The projections against a fresh fold of the ledger, row by row (SPEC §3, §5).

The fresh fold goes into a store of its own, through a follower of its own: nothing that the live
one holds in memory is believed. Keys that are still to be destroyed (`Z`) are no projection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from processors.chain import Flaw
from projections import keys
from projections.follower import Follower
from projections.kv_memory import MemoryStore
from projections.kv_rocks import RocksStore
from projections.ports import KeyValueStore
from projections.rows import FactRow
from projections.state import StoreReader
from projections.support import EVERYTHING
from projections.view import Group
from schemas.entry import NONE16
from schemas.errors import LedgerCorrupt, StoreDamaged, Unavailable
from schemas.policy import Policy

BATCH = 1000
IN_MEMORY = 50_000  # entries of a partition, about 2 KB each
_END = (b"\xff" * 64, b"")  # beyond every key


class Rows(NamedTuple):
    """Rows that differ from a fresh fold's, and supersessions that are not valid: a notice."""

    flaws: list[Flaw]
    notices: list[Flaw]


def compare(live: Follower, policy: Policy) -> Rows:
    """Fold a partition's ledger anew and compare. A flaw where it cannot be folded to its end."""
    vault = _NoErasure(live)
    there, over = _stored(live.store)
    with _fresh_store(live.log.end(live.ledger, live.partition)) as store:
        checked = over(store)
        fresh = Follower(live.partition, live.log, live.ledger, checked, vault, live.hasher)
        try:
            fresh.catch_up(limit=_folded_to(live))
        except LedgerCorrupt as error:
            return Rows([Flaw(error.sequence, error.what, error.detail)], [])
        except Unavailable as error:
            if error.part != "vault":
                raise
            return Rows([Flaw(None, "key", error.detail)], [])
        flaws = [
            Flaw(None, "projection", f"row {key[:1].decode()} {key[1:].hex()} is {state}")
            for key, state in differences(store, there)
        ]
        return Rows(flaws, list(_invalid_edges(checked, policy)))


def _folded_to(live: Follower) -> int | None:
    """The log offset up to which the live store says that it folded; None if it cannot say."""
    try:
        return live.checkpoint().next_offset
    except StoreDamaged:
        return None


def _stored(store: KeyValueStore) -> tuple[KeyValueStore, Callable[[KeyValueStore], KeyValueStore]]:
    """The store beneath those that check or wait, and how to check another one like it."""
    over: Callable[[KeyValueStore], KeyValueStore] = _as_it_is
    while (inner := getattr(store, "inner", None)) is not None:
        over = getattr(store, "over", over)
        store = inner
    return store, over


def _as_it_is(store: KeyValueStore) -> KeyValueStore:
    return store


@contextmanager
def _fresh_store(entries: int) -> Iterator[KeyValueStore]:
    """Where the fresh fold goes: memory, or a directory that is removed where that is too much."""
    if entries <= IN_MEMORY:
        yield MemoryStore()
        return
    with TemporaryDirectory(prefix="mnemolog-verify-") as path:
        store = RocksStore(Path(path) / "state")
        try:
            yield store
        finally:
            store.close()


def differences(wanted: KeyValueStore, there: KeyValueStore) -> Iterator[tuple[bytes, str]]:
    """The keys under which two stores differ, and how `there` differs: one pass over both."""
    ours, theirs = wanted.scan(b""), there.scan(b"")
    while True:
        one, other = list(islice(ours, BATCH)), list(islice(theirs, BATCH))
        if one != other:
            yield from _one_by_one(chain(one, ours), chain(other, theirs))
            return
        if not one:
            return


def _one_by_one(
    wanted: Iterator[tuple[bytes, bytes]], there: Iterator[tuple[bytes, bytes]]
) -> Iterator[tuple[bytes, str]]:
    """The same from the first batch on that differs."""
    ours, theirs = filter(_is_projection, wanted), filter(_is_projection, there)
    one, other = next(ours, _END), next(theirs, _END)
    while one is not _END or other is not _END:
        if one[0] < other[0]:
            yield one[0], "missing"
            one = next(ours, _END)
        elif other[0] < one[0]:
            yield other[0], "extra"
            other = next(theirs, _END)
        else:
            if one[1] != other[1]:
                yield one[0], "altered"
            one, other = next(ours, _END), next(theirs, _END)


def _is_projection(pair: tuple[bytes, bytes]) -> bool:
    return pair[0][:1] != keys.ALL_DOOMED


def _invalid_edges(store: KeyValueStore, policy: Policy) -> Iterator[Flaw]:
    reader = StoreReader(store)
    places = {
        (key[1:17], row.entity_attribute)
        for key, row in reader.scan(b"F")
        if isinstance(row, FactRow) and row.supersedes != NONE16
    }
    for scope16, attribute16 in sorted(places):
        group = Group(reader, scope16, attribute16, EVERYTHING, policy)
        for record16 in group.invalid_edges():
            row = group.members[record16].row
            yield Flaw(row.sequence, "supersession", "names a fact that it may not supersede")


class _NoErasure:
    """The live vault, read only: checking destroys nothing."""

    def __init__(self, live: Follower) -> None:
        self.get_many = live.vault.get_many

    def put(self, keys: Sequence[tuple[bytes, bytes]]) -> None:
        raise AssertionError("checking writes no keys")

    def erase(self, key_ids: Sequence[bytes]) -> None:
        """Nothing: the keys to destroy are the live store's concern."""

    def close(self) -> None:
        """Nothing to let go."""
