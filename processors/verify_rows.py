"""The projections against a fresh fold of the ledger, row by row (SPEC §3, §5).

The fresh fold goes into a store of its own, through a follower of its own: nothing that the live
one holds in memory is believed. Keys that are still to be destroyed (`Z`) are no projection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from processors.chain import Flaw
from projections import keys
from projections.follower import Follower
from projections.kv_memory import MemoryStore
from projections.ports import KeyValueStore
from projections.state import StoreReader
from projections.support import EVERYTHING
from projections.view import groups
from schemas.errors import LedgerCorrupt
from schemas.policy import Policy

_END = (b"\xff" * 64, b"")  # beyond every key


def compare(live: Follower, policy: Policy) -> tuple[list[Flaw], list[Flaw]]:
    """(rows that differ, supersessions that are not valid: a notice)."""
    fresh = Follower(
        live.partition, live.log, live.ledger, MemoryStore(), _NoErasure(live), live.hasher
    )
    try:
        fresh.catch_up(limit=live.checkpoint().next_offset)
    except LedgerCorrupt as error:
        return [Flaw(error.sequence, error.what, error.detail)], []
    flaws = [
        Flaw(None, "projection", f"row {key[:1].decode()} {key[1:].hex()} is {state} in the store")
        for key, state in differences(fresh.store, live.store)
    ]
    return flaws, list(_invalid_edges(fresh.store, policy))


def differences(wanted: KeyValueStore, there: KeyValueStore) -> Iterator[tuple[bytes, str]]:
    """The keys under which two stores differ, and how `there` differs: one pass over both."""
    ours, theirs = _rows(wanted), _rows(there)
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


def _rows(store: KeyValueStore) -> Iterator[tuple[bytes, bytes]]:
    return (pair for pair in store.scan(b"") if pair[0][:1] != keys.ALL_DOOMED)


def _invalid_edges(store: KeyValueStore, policy: Policy) -> Iterator[Flaw]:
    reader = StoreReader(store)
    for scope16 in sorted({key[1:17] for key, _ in store.scan(b"G")}):
        for _, group in groups(reader, scope16, EVERYTHING, policy):
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
