"""Projections at a start: opened, and folded to the ledger's end before anything is answered.

Rules (SPEC §3, §5)
- A store that cannot be opened or read stops the start; it is rebuilt on request, never unseen.
- A store that is new, or was lost, is folded from the ledger's beginning before anything is served.
- That it begins, how far it is every few seconds, and that it is done is said in the process's log.
"""

from __future__ import annotations

import time
from pathlib import Path

import structlog

from projections.checked import CheckedStore
from projections.follower import Follower
from projections.kv_rocks import RocksStore
from projections.rocks import PROJECTION_LAYOUT
from schemas.master import MasterKey

log = structlog.get_logger()

STEP = 2000  # records between two looks at the clock
TELL_S = 5.0


def open_projection(path: Path, rebuild: str, *, known: bool) -> RocksStore:
    """The store of one partition; `rebuild` is what to type if it cannot be used.

    `known`: it was there before, so that its absence is a loss.
    """
    if known and not path.exists():
        log.warning("a store is gone: it is rebuilt from the ledger", store=str(path))
    return RocksStore(path, layout=PROJECTION_LAYOUT, rebuild=rebuild)


def open_state(
    path: Path, rebuild: str, master: MasterKey, partition: int, *, known: bool
) -> CheckedStore:
    """The state of one partition, its rows bound to installation and partition; else as above."""
    key = rows_key(master, partition)
    return CheckedStore(open_projection(path, rebuild, known=known), key)


def rows_key(master: MasterKey, partition: int) -> bytes:
    """The key that binds the rows of a partition."""
    return master.derive(f"projection-rows-{partition}")


def catch_up(follower: Follower, tell_s: float = TELL_S) -> None:
    """Fold to the ledger's end; errors as `Follower.catch_up`."""
    partition = follower.partition
    start = at = follower.checkpoint().next_offset
    end = follower.log.end(follower.ledger, partition)
    if start == 0 < end:
        log.info("folding the ledger from its beginning", partition=partition, records=end)
    told = time.monotonic()
    while True:
        follower.catch_up(limit=STEP)
        before, at = at, follower.checkpoint().next_offset
        if at == before:
            break
        if time.monotonic() - told >= tell_s:
            told = time.monotonic()
            log.info("folding the ledger", partition=partition, folded=at, records=max(at, end))
    if start == 0 < at:
        count = follower.checkpoint().count
        log.info("folded the ledger from its beginning", partition=partition, entries=count)
