"""What a head kept outside says of a ledger (SPEC §3 "Anchors", I1). Rules only, no I/O.

- Behind the ledger: the ledger went on. Ahead of it: the ledger was truncated, or is an older
  backup, and it is said how much is missing. Beside it: the ledger was rewritten.
- A data directory *remembers* the anchor that it wrote or saw last. An anchor that is gone where
  one is remembered was deleted; one older than the remembered was rolled back. Where none is
  remembered either, the ledger is trusted as found (first use), and that is said.
- The newest head that is known counts, whichever of the two says it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from processors.chain import Chain, Flaw
from projections.follower import Follower
from projections.ports import Anchor
from schemas.answers import Checkpoint


class Heads(Protocol):
    """A ledger, or the part of it that was folded, as heads are compared with it."""

    count: int

    def hash_at(self, sequence: int) -> bytes | None:
        """The hash of an entry."""
        ...


class Folded:
    """What a follower folded, as `Heads`."""

    def __init__(self, follower: Follower) -> None:
        self._reader = follower.reader
        self.count = follower.checkpoint().count

    def hash_at(self, sequence: int) -> bytes | None:
        """See `Heads`."""
        row = self._reader.entry(sequence)
        return None if row is None else row.hash


def headless(follower: Follower) -> Flaw | None:
    """A store that holds rows but does not say how far it folded."""
    if follower.reader.checkpoint() is None and next(follower.store.scan(b""), None) is not None:
        return Flaw(None, "projection", "the store holds rows, and its checkpoint is gone")
    return None


def held_against(seen: Anchor, by: str, ledger: Heads) -> Iterator[Flaw]:
    """How a ledger differs from a head that `by` (a noun with its article) saw."""
    if seen.entries > ledger.count:
        missing = seen.entries - ledger.count
        entries = "1 entry is" if missing == 1 else f"{missing} entries are"
        yield Flaw(ledger.count, "truncated", f"{entries} missing: {by} saw {seen.entries}")
    elif seen.entries and ledger.hash_at(seen.entries - 1) != seen.hash:
        detail = f"the entry is not the one that {by} saw"
        yield Flaw(seen.entries - 1, "rewritten", detail)


def forked(seen: Anchor, by: str, chain: Chain) -> Iterator[Flaw]:
    """The same over a chain that was read: an entry put in makes what followed a side branch."""
    fork = chain.fork(seen.hash) if chain.hash_at(seen.entries - 1) != seen.hash else None
    if fork is None:
        yield from held_against(seen, by, chain)
    else:
        detail = (
            f"another entry stands in the place of the one at log offset {fork.offset}, from which "
            f"the chain goes on to what {by} saw"
        )
        yield Flaw(fork.sequence, "injected", detail)


def scope_flaw(follower: Follower, scope16: bytes, seen: Anchor) -> Flaw | None:
    """How a scope's head in the store differs from the one that its anchor saw."""
    head = follower.reader.head(scope16)
    if head.count < seen.entries:
        detail = f"a scope has {head.count} entries where the anchor saw {seen.entries}"
    elif head.count == seen.entries and head.hash != seen.hash:
        detail = "a scope's last entry is not the one that the anchor saw"
    else:
        return None
    return Flaw(head.sequence, "scope_head", detail)


def missed_by(checkpoint: Checkpoint, log: str, chain: Chain) -> Iterator[Flaw]:
    """How a partition's chain differs from what a checkpoint, known to be authentic, saw of it."""
    by = f"the checkpoint of {checkpoint.made_at}"
    head = next((one for one in checkpoint.partitions if one.partition == chain.partition), None)
    if checkpoint.log != log:
        yield Flaw(0, "another_log", f"{by} is of the log {checkpoint.log}, and this is {log}")
    elif head is not None and (not chain.broken or head.entries <= chain.count):
        yield from forked(Anchor(head.entries, bytes.fromhex(head.head)), by, chain)


def memory_flaws(
    anchor: Anchor | None, remembered: Anchor | None, exclusive: bool
) -> Iterator[Flaw]:
    """How an anchor differs from what the data directory remembers of it.

    Where anchors are not one process's alone, an older one may be a beaten writer's that came late.
    """
    if remembered is None:
        return
    if anchor is None:
        detail = (
            f"there is no anchor, and one at {remembered.entries} entries is remembered: it was "
            "deleted, or this is not the state directory that it was written to"
        )
        yield Flaw(remembered.entries, "anchor_missing", detail)
    elif exclusive and anchor.entries <= remembered.entries and anchor != remembered:
        detail = (
            f"the anchor says {anchor.entries} entries, and one at {remembered.entries} is "
            "remembered: an older one was put in its place"
        )
        yield Flaw(anchor.entries, "anchor_rolled_back", detail)


def newest(anchor: Anchor | None, remembered: Anchor | None) -> tuple[Anchor, str] | None:
    """The head that counts, and who says it."""
    if anchor is not None and (remembered is None or anchor.entries >= remembered.entries):
        return anchor, "the anchor"
    return None if remembered is None else (remembered, "the data directory")
