"""Anchors: where each chain stood, kept outside the ledger (SPEC §3, I1).

Behind the log: catch up. Ahead of it: the log was truncated or an older backup was restored, and it
is said how much is missing. Absent: trusted on first use. Written after the log, never before.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from projections.follower import Follower
from projections.ports import Anchor, Anchors
from schemas.errors import LedgerCorrupt

log = structlog.get_logger()


class Anchoring:
    """Checks and writes the anchors of followers."""

    def __init__(self, anchors: Anchors) -> None:
        self.anchors = anchors
        self._written: dict[int, int] = {}

    def check(self, follower: Follower) -> None:
        """Compare a caught-up follower with its anchor; `LedgerCorrupt` if entries were lost."""
        partition = follower.partition
        anchors = self.anchors.all(partition)
        anchor = anchors.pop(b"", None)
        checkpoint = follower.checkpoint()
        if anchor is None:
            if checkpoint.count:
                log.warning("no anchor: the ledger is trusted as found", partition=partition)
            return
        if anchor.entries > checkpoint.count:
            missing = anchor.entries - checkpoint.count
            raise LedgerCorrupt(
                partition,
                checkpoint.count,
                "truncated",
                f"{missing} entries are missing: the anchor saw {anchor.entries}",
            )
        if anchor.entries:
            row = follower.reader.entry(anchor.entries - 1)
            if row is None or row.hash != anchor.hash:
                raise LedgerCorrupt(
                    partition,
                    anchor.entries - 1,
                    "rewritten",
                    "the entry is not the one that the anchor saw",
                )
        for scope16, seen in anchors.items():
            self._check_scope(follower, scope16, seen)

    @staticmethod
    def _check_scope(follower: Follower, scope16: bytes, seen: Anchor) -> None:
        head = follower.reader.head(scope16)
        behind = head.count < seen.entries
        if behind or (head.count == seen.entries and head.hash != seen.hash):
            raise LedgerCorrupt(
                follower.partition,
                head.sequence,
                "scope_head",
                f"a scope has {head.count} entries where the anchor saw {seen.entries}"
                if behind
                else "a scope's last entry is not the one that the anchor saw",
            )

    def write(self, followers: Sequence[Follower]) -> None:
        """Anchor the heads of partitions and scopes that have moved since the last time."""
        for follower in followers:
            checkpoint = follower.checkpoint()
            if self._written.get(follower.partition) != checkpoint.count and checkpoint.count:
                moved, follower.moved = follower.moved, {}
                head = Anchor(checkpoint.count, checkpoint.hash)
                self.anchors.write(follower.partition, {**moved, b"": head})
                self._written[follower.partition] = checkpoint.count
