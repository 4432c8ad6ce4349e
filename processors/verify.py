"""`verify`: re-read what is stored and say what is damaged and where (I1; SPEC §3). Folds nothing.

Chain, sequence, recorded time and anchors are checked from the ledger's bytes alone. `deep` also
opens every body, checks each witness against its source, and compares every row of the projections
with a fresh fold into memory. Damage breaks a promise; a notice does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from projections.follower import Follower
from projections.kv_memory import MemoryStore
from projections.ports import Anchors
from projections.state import StoreReader
from projections.support import EVERYTHING
from projections.view import groups
from schemas.answers import Finding, PartitionHead, Verification
from schemas.bodies import AssertionBody, Body, Check, ObservationBody
from schemas.entry import GENESIS, NONE16, Entry, MalformedEntry, parse_entry
from schemas.errors import LedgerCorrupt
from schemas.kinds import Decision
from schemas.policy import Policy
from schemas.sealing import quote_digest, unseal

BATCH = 1000


class _Walk:
    """One partition's ledger read from its bytes."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.partition = follower.partition
        self.damage: list[Finding] = []
        self.notices: list[Finding] = []
        self.hashes: list[bytes] = []
        self.ignored: set[bytes] = set()
        self.recorded_at = -(2**63)

    def found(self, sequence: int | None, what: str, detail: str) -> None:
        self.damage.append(
            Finding(partition=self.partition, sequence=sequence, what=what, detail=detail)
        )

    def notice(self, sequence: int | None, what: str, detail: str) -> None:
        self.notices.append(
            Finding(partition=self.partition, sequence=sequence, what=what, detail=detail)
        )

    def entries(self) -> Iterator[Entry]:
        """The entries of the chain; ends at the first damage that breaks it."""
        log, at = self.follower.log, self.follower.log.start(self.follower.ledger, self.partition)
        if at > 0:
            self.found(0, "truncated", f"the ledger's first {at} records are gone")
            return
        while records := log.read(self.follower.ledger, self.partition, at, BATCH):
            for record in records:
                try:
                    entry = parse_entry(record.value)
                except MalformedEntry as error:
                    detail = f"{error} (log offset {record.offset})"
                    self.found(len(self.hashes), "malformed", detail)
                    return
                if self._extends(entry):
                    yield entry
                elif not self._beaten(entry):
                    self.found(
                        len(self.hashes),
                        "chain",
                        f"its predecessor was never seen (log offset {record.offset})",
                    )
                    return
            at = records[-1].offset + 1

    def _extends(self, entry: Entry) -> bool:
        head = self.hashes[-1] if self.hashes else GENESIS
        header = entry.header
        if header.previous != head or header.sequence != len(self.hashes):
            return False
        if header.recorded_at <= self.recorded_at:
            self.found(header.sequence, "time", "its recorded time does not increase")
        self.recorded_at = header.recorded_at
        self.hashes.append(entry.hash)
        return True

    def _beaten(self, entry: Entry) -> bool:
        before = entry.header.sequence - 1
        seen = (
            entry.header.previous == GENESIS
            if before < 0
            else before < len(self.hashes) and self.hashes[before] == entry.header.previous
        )
        if seen or entry.header.previous in self.ignored:
            self.ignored.add(entry.hash)
            return True
        return False


def verify_partitions(
    followers: Sequence[Follower], anchors: Anchors, *, deep: bool, policy: Policy | None = None
) -> Verification:
    """Check every partition; `deep` as the module says."""
    walks = [
        _verify(follower, anchors, policy or Policy() if deep else None) for follower in followers
    ]
    damage = tuple(finding for walk in walks for finding in walk.damage)
    return Verification(
        ok=not damage,
        partitions=tuple(
            PartitionHead(
                partition=walk.partition,
                entries=len(walk.hashes),
                head=(walk.hashes[-1] if walk.hashes else GENESIS).hex(),
            )
            for walk in walks
        ),
        damage=damage,
        notices=tuple(finding for walk in walks for finding in walk.notices),
    )


def _verify(follower: Follower, anchors: Anchors, deep: Policy | None) -> _Walk:
    walk = _Walk(follower)
    bodies = _Bodies(walk) if deep is not None else None
    for entry in walk.entries():
        if bodies is not None:
            bodies.check(entry)
    if walk.ignored:
        walk.notice(None, "ignored", f"{len(walk.ignored)} entries of beaten writers or resends")
    _check_anchors(walk, anchors)
    _check_checkpoint(walk)
    if bodies is not None and deep is not None:
        bodies.finish()
        _check_projections(walk, deep)
    return walk


def _check_anchors(walk: _Walk, anchors: Anchors) -> None:
    try:
        anchor = anchors.read(walk.partition)
    except LedgerCorrupt as error:
        walk.found(error.sequence, error.what, error.detail)
        return
    count = len(walk.hashes)
    if anchor is None:
        if count:
            walk.notice(None, "no_anchor", "there is no anchor: the ledger is trusted as found")
    elif anchor.entries > count:
        missing = anchor.entries - count
        detail = f"{missing} entries are missing: the anchor saw {anchor.entries}"
        walk.found(count, "truncated", detail)
    elif anchor.entries and walk.hashes[anchor.entries - 1] != anchor.hash:
        walk.found(anchor.entries - 1, "rewritten", "the entry is not the one the anchor saw")


def _check_checkpoint(walk: _Walk) -> None:
    checkpoint = walk.follower.checkpoint()
    if checkpoint.count > len(walk.hashes):
        missing = checkpoint.count - len(walk.hashes)
        walk.found(len(walk.hashes), "truncated", f"{missing} entries that were folded are missing")
    elif checkpoint.count and walk.hashes[checkpoint.count - 1] != checkpoint.hash:
        walk.found(
            checkpoint.count - 1, "rewritten", "the entry is not the one that the store folded"
        )


class _Bodies:
    """Opens bodies and checks witnesses against the sources they name."""

    def __init__(self, walk: _Walk) -> None:
        self._walk = walk
        self._sources: dict[bytes, tuple[bytes, ObservationBody]] = {}
        self._unopened: dict[int, Entry] = {}
        self._followed: set[int] = set()

    def check(self, entry: Entry) -> None:
        header = entry.header
        self._followed.add(header.follows)
        (key,) = self._walk.follower.vault.get_many([header.key_id])
        if key is None:
            if header.key_id != NONE16:
                self._unopened[header.sequence] = entry
            return
        body = self._open(entry, key)
        if isinstance(body, ObservationBody):
            self._sources[header.record] = (entry.hash, body)
        elif isinstance(body, AssertionBody):
            self._witnesses(entry, body)

    def _open(self, entry: Entry, key: bytes) -> Body | None:
        from projections.follower import open_body

        if unseal(key, entry.sealed, entry.header_bytes) is None:
            self._walk.found(entry.header.sequence, "body", "it does not fit its key and header")
            return None
        try:
            return open_body(self._walk.partition, entry, key)
        except LedgerCorrupt as error:
            self._walk.found(error.sequence, error.what, error.detail)
            return None

    def _witnesses(self, entry: Entry, body: AssertionBody) -> None:
        flat = [witness for justification in body.witnesses for witness in justification]
        for witness, source16 in zip(flat, entry.header.sources, strict=False):
            if witness.on_fact or witness.check != Check.OK:
                continue
            source = self._sources.get(source16)
            if source is None:
                self._walk.found(entry.header.sequence, "witness", "its source is not there")
                continue
            source_hash, observation = source
            content = (observation.event.content or "").encode()
            quote = content[witness.start : witness.end]
            digest = quote_digest(observation.quote_key, quote) if quote else None
            if witness.source_hash != source_hash or witness.digest != digest:
                self._walk.found(entry.header.sequence, "witness", "its quote is not in its source")

    def finish(self) -> None:
        """A body may only be gone where a later entry replaced it."""
        for sequence, entry in self._unopened.items():
            replaced = sequence in self._followed and entry.header.decision in (
                Decision.PARKED,
                Decision.ACCEPTED,
                Decision.CANDIDATE,
            )
            if not replaced:
                self._walk.found(sequence, "missing_key", "its record key is gone, unexplained")


def _check_projections(walk: _Walk, policy: Policy) -> None:
    """Compare every row with a fresh fold; note supersessions that are not valid."""
    live = walk.follower
    fresh = Follower(
        live.partition, live.log, live.ledger, MemoryStore(), _NoErasure(live), live.hasher
    )
    try:
        fresh.catch_up(limit=live.checkpoint().next_offset or None)
    except LedgerCorrupt as error:
        walk.found(error.sequence, error.what, error.detail)
        return
    wanted = {key: row for key, row in fresh.store.scan(b"") if key[:1] != b"Z"}
    there = {key: row for key, row in live.store.scan(b"") if key[:1] != b"Z"}
    for key in sorted(wanted.keys() | there.keys()):
        if wanted.get(key) != there.get(key):
            state = "missing" if key not in there else "extra" if key not in wanted else "altered"
            detail = f"row {key[:1].decode()} {key[1:].hex()} is {state} in the store"
            walk.found(None, "projection", detail)
    reader = StoreReader(fresh.store)
    scopes = {key[1:17] for key, _ in fresh.store.scan(b"G")}
    for scope16 in sorted(scopes):
        for _, group in groups(reader, scope16, EVERYTHING, policy):
            for record16 in group.invalid_edges():
                row = group.members[record16].row
                walk.notice(row.sequence, "supersession", "names a fact that it may not supersede")


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
