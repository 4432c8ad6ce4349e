"""`verify`: re-read what is stored and say what is damaged and where (I1; SPEC §3). Folds nothing.

Chain, sequence, recorded time and anchors are checked from the ledger's bytes alone, and so is what
the store says that it folded. `deep` also opens every body, checks each witness against its source
(`processors.verify_bodies`), and compares every row of the projections with a fresh fold
(`processors.verify_rows`). Damage breaks a promise; a notice does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from processors.anchored import forked, memory_flaws, missed_by, newest, scope_flaw
from processors.chain import Chain, Flaw
from processors.verify_bodies import Bodies
from processors.verify_rows import compare
from projections import keys
from projections.follower import Follower
from projections.ports import Anchor, Anchors, LogRecord
from schemas.answers import Checkpoint, Finding, PartitionHead, Verification
from schemas.errors import LedgerCorrupt, StoreDamaged
from schemas.policy import Policy

BATCH = 1000


class _Partition:
    """One partition's ledger being read, and what was found."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.partition = follower.partition
        self.chain = Chain(follower.partition)
        self.damage: list[Finding] = []
        self.notices: list[Finding] = []

    def found(self, flaws: Iterable[Flaw]) -> None:
        """Damage."""
        self.damage += (Finding(partition=self.partition, **flaw._asdict()) for flaw in flaws)

    def notice(self, what: str, detail: str, sequence: int | None = None) -> None:
        """Worth saying, and no damage."""
        self.notices.append(
            Finding(partition=self.partition, sequence=sequence, what=what, detail=detail)
        )

    def winners(self) -> Iterator[list[LogRecord]]:
        """The records that extend the chain, in batches; ends at damage that breaks it."""
        chain = self.chain
        start = self.follower.log.start(self.follower.ledger, self.partition)
        if start > 0:
            chain.flaws.append(Flaw(0, "truncated", f"the ledger's first {start} records are gone"))
            chain.broken = True
            return
        for records in self._batches(0):
            yield [record for record in records if not chain.broken and chain.extend(record)]
            if chain.broken:
                return

    def rest(self) -> Iterator[LogRecord]:
        """The records after the one that broke the chain."""
        return (record for records in self._batches(self.chain.broke_at + 1) for record in records)

    def _batches(self, at: int) -> Iterator[list[LogRecord]]:
        log, ledger = self.follower.log, self.follower.ledger
        while records := log.read(ledger, self.partition, at, BATCH):
            yield records
            at = records[-1].offset + 1


def verify_partitions(
    followers: Sequence[Follower],
    anchors: Anchors,
    *,
    deep: bool,
    policy: Policy | None = None,
    remembered: Anchors | None = None,
    against: Sequence[Checkpoint] = (),
) -> Verification:
    """Check every partition; `deep` as the module says. Writes nothing.

    `against`: checkpoints that are known to be this installation's.
    """
    walks = [
        _verify(follower, anchors, remembered, policy or Policy() if deep else None)
        for follower in followers
    ]
    for walk in walks:
        identity = walk.follower.log.identity()
        for checkpoint in against:
            walk.found(missed_by(checkpoint, identity, walk.chain))
    damage = tuple(finding for walk in walks for finding in walk.damage)
    return Verification(
        ok=not damage,
        partitions=tuple(
            PartitionHead(
                partition=walk.partition, entries=walk.chain.count, head=walk.chain.head.hex()
            )
            for walk in walks
        ),
        damage=damage,
        notices=tuple(finding for walk in walks for finding in walk.notices),
    )


def _verify(
    follower: Follower, anchors: Anchors, remembered: Anchors | None, deep: Policy | None
) -> _Partition:
    walk = _Partition(follower)
    chain = walk.chain
    bodies = None
    if deep is not None:
        bodies = Bodies(walk.partition, follower.log, follower.ledger, follower.vault)
    for records in walk.winners():
        if bodies is not None:
            bodies.take(records)
    if chain.broken:
        chain.explain(walk.rest())
    walk.found(chain.flaws)
    if chain.ignored:
        resent = sum(one.resent for one in chain.ignored)
        beaten = len(chain.ignored) - resent
        walk.notice("ignored", f"{beaten} entries of beaten writers, {resent} that came twice")
    heads = _check_anchors(walk, anchors, remembered)
    try:
        _check_store(walk, heads)
    except StoreDamaged as error:
        walk.found([Flaw(None, "projection", error.detail)])
    if bodies is not None and deep is not None:
        unread = list(bodies.flaws())
        walk.found(unread)
        if not chain.broken and not unread:
            flaws, notices = compare(follower, chain.count, deep)
            walk.found(flaws)
            for flaw in notices:
                walk.notice(flaw.what, flaw.detail, flaw.sequence)
    return walk


def _check_anchors(
    walk: _Partition, anchors: Anchors, remembered: Anchors | None
) -> dict[bytes, Anchor]:
    """Hold the partition's anchor against the chain; all that its anchors say."""
    partition, chain = walk.partition, walk.chain
    try:
        heads = anchors.all(partition)
        before = None if remembered is None else remembered.read(partition)
    except LedgerCorrupt as error:
        walk.found([Flaw(error.sequence, error.what, error.detail)])
        return {}
    anchor = heads.get(b"")
    walk.found(memory_flaws(anchor, before, anchors.exclusive))
    seen = newest(anchor, before)
    if seen is not None:
        walk.found(_beside(*seen, chain))
    elif chain.count:
        walk.notice("no_anchor", "there is no anchor: the ledger is trusted as found")
    return heads


def _beside(seen: Anchor, by: str, chain: Chain) -> Iterator[Flaw]:
    """How a chain differs from a head, unless it broke before that."""
    if not chain.broken or seen.entries <= chain.count:
        yield from forked(seen, by, chain)


def _check_store(walk: _Partition, heads: dict[bytes, Anchor]) -> None:
    """Hold what the store says that it folded against the chain and the scopes' anchors."""
    follower, chain = walk.follower, walk.chain
    checkpoint = follower.checkpoint()
    if checkpoint.identity != follower.log.identity():
        detail = "the store was folded from another ledger: the log is another one, or made anew"
        walk.found([Flaw(0, "another_log", detail)])
        return
    flaws = list(_beside(Anchor(checkpoint.count, checkpoint.hash), "the store", chain))
    walk.found(flaws)
    if flaws or chain.broken:
        return
    beside = [one for one in chain.ignored if one.offset < checkpoint.next_offset]
    for one in beside:
        if follower.reader.row(keys.beaten(one.hash)) is None:
            what = "duplicated" if one.resent else "injected"
            detail = f"it was put in at log offset {one.offset} after the ledger was folded"
            walk.found([Flaw(one.sequence, what, detail)])
            return
    if len(beside) != checkpoint.ignored:
        detail = (
            f"{len(beside)} records stand beside the chain where {checkpoint.ignored} did when it "
            "was folded"
        )
        walk.found([Flaw(None, "ignored", detail)])
    anchor = heads.pop(b"", None)
    if not walk.damage and anchor is not None and anchor.entries <= checkpoint.count:
        walk.found(
            flaw
            for scope16, head in heads.items()
            if (flaw := scope_flaw(follower, scope16, head)) is not None
        )
