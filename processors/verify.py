"""`verify`: re-read what is stored and say what is damaged and where (I1; SPEC §3). Folds nothing.

Chain, sequence, recorded time and anchors are checked from the ledger's bytes alone, and so is what
the store says that it folded. `deep` also opens every body, checks each witness against its source
(`processors.verify_bodies`), and compares every row of the projections with a fresh fold
(`processors.verify_rows`). Damage breaks a promise; a notice does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from processors.anchored import forked, headless, memory_flaws, missed_by, newest, scope_flaw
from processors.apart import WORTH_IT, Apart
from processors.chain import Chain, Flaw
from processors.examining import Examined, examine
from projections import keys
from projections.follower import Follower
from projections.ports import Anchor, Anchors
from schemas.answers import Checkpoint, Finding, PartitionHead, Verification
from schemas.errors import LedgerCorrupt, StoreDamaged
from schemas.policy import Policy


class _Partition:
    """One partition's ledger that was read, and what was found."""

    def __init__(self, follower: Follower, chain: Chain) -> None:
        self.follower = follower
        self.partition = follower.partition
        self.chain = chain
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


def verify_partitions(
    followers: Sequence[Follower],
    anchors: Anchors,
    *,
    deep: bool,
    policy: Policy | None = None,
    remembered: Anchors | None = None,
    against: Sequence[Checkpoint] = (),
    apart: Apart | None = None,
) -> Verification:
    """Check every partition; `deep` as the module says. Writes nothing.

    `against`: checkpoints that are known to be this installation's. `apart`: starts a second
    process, where the ledger is large enough for it.
    """
    examined = _examine(followers, deep, policy or Policy(), apart)
    walks = [
        _verify(follower, one, anchors, remembered)
        for follower, one in zip(followers, examined, strict=True)
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


def _examine(
    followers: Sequence[Follower], deep: bool, policy: Policy, apart: Apart | None
) -> list[Examined]:
    """Examine every partition; where it is worth it, every other one in a second process."""
    entries = sum(one.log.end(one.ledger, one.partition) for one in followers)
    theirs = [one.partition for one in followers[1::2]]
    if apart is None or not theirs or entries < WORTH_IT or (os.cpu_count() or 1) < 2:
        return [examine(one, deep, policy) for one in followers]
    with apart.examining(theirs, deep, policy) as helper:
        done = {one.partition: examine(one, deep, policy) for one in followers[::2]}
        done |= helper.result()
    return [done.get(one.partition) or examine(one, deep, policy) for one in followers]


def _verify(
    follower: Follower, examined: Examined, anchors: Anchors, remembered: Anchors | None
) -> _Partition:
    chain = examined.chain
    walk = _Partition(follower, chain)
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
    walk.found(examined.bodies)
    walk.found(examined.rows.flaws)
    for flaw in examined.rows.notices:
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
    if (flaw := headless(follower)) is not None:
        walk.found([flaw])
        return
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
