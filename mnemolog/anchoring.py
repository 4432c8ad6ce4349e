"""Anchors: where each chain stood, kept outside the ledger (SPEC §3, I1).

Written after the log, never before; the rules of comparing are in `processors.anchored`. The
directory of the process remembers the last anchor that it wrote or saw (written after it), so that
one which was deleted or rolled back is told from one that never was.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from processors.anchored import Folded, headless, held_against, memory_flaws, newest, scope_flaw
from processors.chain import Flaw
from projections.follower import Follower
from projections.ports import Anchor, Anchors
from schemas.errors import LedgerCorrupt

log = structlog.get_logger()


class Anchoring:
    """Checks and writes the anchors of followers."""

    def __init__(self, anchors: Anchors, remembered: Anchors) -> None:
        self.anchors = anchors
        self.remembered = remembered
        self._written: dict[int, int] = {}

    def check(self, follower: Follower) -> None:
        """Compare a caught-up follower with its anchor; `LedgerCorrupt` if entries were lost."""
        partition = follower.partition
        anchors = self.anchors.all(partition)
        anchor = anchors.pop(b"", None)
        remembered = self.remembered.read(partition)
        folded = Folded(follower)
        flaws = list(memory_flaws(anchor, remembered, self.anchors.exclusive))
        seen = newest(anchor, remembered)
        if seen is not None:
            flaws = [*held_against(*seen, folded), *flaws]
        elif folded.count:
            log.warning("no anchor: the ledger is trusted as found", partition=partition)
        flaws += (
            flaw
            for scope16, head in anchors.items()
            if (flaw := scope_flaw(follower, scope16, head)) is not None
        )
        if flaws:
            raise corrupt(partition, flaws[0])
        if anchor is not None and (remembered is None or anchor.entries > remembered.entries):
            self.remembered.write(partition, {b"": anchor})

    def write(self, followers: Sequence[Follower]) -> None:
        """Anchor the heads of partitions and scopes that have moved since the last time."""
        for follower in followers:
            checkpoint = follower.checkpoint()
            if self._written.get(follower.partition) != checkpoint.count and checkpoint.count:
                head = Anchor(checkpoint.count, checkpoint.hash)
                self.anchors.write(follower.partition, {**follower.moved, b"": head})
                follower.moved = {}  # only now: what could not be written is tried again
                self.remembered.write(follower.partition, {b"": head})
                self._written[follower.partition] = checkpoint.count

    def forget(self, partition: int) -> None:
        """Trust a ledger as found: the next head that is written is the first one."""
        for kept in (self.anchors, self.remembered):
            kept.forget(partition)
        self._written.pop(partition, None)

    def close(self) -> None:
        """Let both go."""
        self.anchors.close()
        self.remembered.close()


def check_folded(follower: Follower) -> None:
    """Refuse a log that does not hold the head that the store folded, where it stood.

    One record is read: what lies before it is for `verify`. Raises `LedgerCorrupt`.
    """
    checkpoint, partition = follower.checkpoint(), follower.partition
    if (flaw := headless(follower)) is not None:
        raise corrupt(partition, flaw)
    if checkpoint.identity != follower.log.identity():
        detail = "the store was folded from another ledger: the log is another one, or made anew"
        raise corrupt(partition, Flaw(0, "another_log", detail))
    start = follower.log.start(follower.ledger, partition)
    end = follower.log.end(follower.ledger, partition)
    count = checkpoint.count
    if start > 0:
        detail = f"the ledger's first {start} records are gone"
        raise corrupt(partition, Flaw(0, "truncated", detail))
    if end < checkpoint.next_offset:
        missing = checkpoint.next_offset - end
        detail = f"the log ends {missing} records before what was folded"
        raise corrupt(partition, Flaw(count, "truncated", detail))
    row = follower.reader.entry(count - 1) if count else None
    if row is not None:
        records = follower.log.read(follower.ledger, partition, row.offset, 1)
        if not records or not (records[0].value or b"").endswith(checkpoint.hash):
            detail = f"what stands at log offset {row.offset} is not the head that was folded"
            raise corrupt(partition, Flaw(count - 1, "rewritten", detail))


def corrupt(partition: int, flaw: Flaw) -> LedgerCorrupt:
    """The error that a flaw is."""
    return LedgerCorrupt(partition, flaw.sequence or 0, flaw.what, flaw.detail)
