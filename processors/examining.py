"""All that one partition's own bytes tell: its chain, and deep its bodies and rows (I1, I2; §3).

What comes out is data, so that partitions may be examined in another process (`processors.apart`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from processors.chain import Chain, Flaw
from processors.verify_bodies import Bodies
from processors.verify_rows import Rows, compare
from projections.follower import Follower
from projections.ports import LogRecord
from schemas.policy import Policy

BATCH = 1000


class Examined(NamedTuple):
    """A chain as far as it holds, what is wrong with its bodies, and with its projections."""

    chain: Chain
    bodies: list[Flaw]
    rows: Rows


def examine(follower: Follower, deep: bool, policy: Policy) -> Examined:
    """Read a partition to its end, or to the damage that breaks the chain.

    Rows prove nothing where the ledger cannot be folded to its end, and are not looked at then.
    """
    log, ledger, partition = follower.log, follower.ledger, follower.partition
    chain, nothing = Chain(partition), Rows([], [])
    bodies = Bodies(partition, log, ledger, follower.vault) if deep else None
    start = log.start(ledger, partition)
    if start > 0:
        chain.flaws.append(Flaw(0, "truncated", f"the ledger's first {start} records are gone"))
        chain.broken = True
        return Examined(chain, [], nothing)
    for records in _batches(follower, 0):
        winners = [record for record in records if not chain.broken and chain.extend(record)]
        if bodies is not None:
            bodies.take(winners)
        if chain.broken:
            rest = _batches(follower, chain.broke_at + 1)
            chain.explain(record for records in rest for record in records)
            break
    if bodies is None:
        return Examined(chain, [], nothing)
    flaws = list(bodies.flaws())
    unreadable = chain.broken or any(flaw.what != "witness" for flaw in flaws)
    return Examined(chain, flaws, nothing if unreadable else compare(follower, policy))


def _batches(follower: Follower, at: int) -> Iterator[list[LogRecord]]:
    while records := follower.log.read(follower.ledger, follower.partition, at, BATCH):
        yield records
        at = records[-1].offset + 1
