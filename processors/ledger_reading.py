"""One partition's ledger read from its beginning: its chain, and with a vault its bodies (I1, I2).

What comes out is data, so that it may be read in another process (`processors.apart`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from processors.chain import Chain, Flaw
from processors.verify_bodies import Bodies
from projections.ports import Log, LogRecord, Vault

BATCH = 1000


class Reading(NamedTuple):
    """A chain as far as it holds, and what is wrong with its bodies."""

    chain: Chain
    bodies: list[Flaw]


def read_ledger(partition: int, log: Log, ledger: str, vault: Vault | None) -> Reading:
    """Read a partition to its end, or to the damage that breaks the chain; no vault, no bodies."""
    chain = Chain(partition)
    bodies = None if vault is None else Bodies(partition, log, ledger, vault)
    start = log.start(ledger, partition)
    if start > 0:
        chain.flaws.append(Flaw(0, "truncated", f"the ledger's first {start} records are gone"))
        chain.broken = True
        return Reading(chain, [])
    for records in _batches(log, ledger, partition, 0):
        winners = [record for record in records if not chain.broken and chain.extend(record)]
        if bodies is not None:
            bodies.take(winners)
        if chain.broken:
            rest = _batches(log, ledger, partition, chain.broke_at + 1)
            chain.explain(record for records in rest for record in records)
            break
    return Reading(chain, [] if bodies is None else list(bodies.flaws()))


def _batches(log: Log, ledger: str, partition: int, at: int) -> Iterator[list[LogRecord]]:
    while records := log.read(ledger, partition, at, BATCH):
        yield records
        at = records[-1].offset + 1
