"""Following one partition's ledger into a store: chain, fence, unseal, fold, commit (I1).

Rules
- An entry folds iff it extends the head: sequence and predecessor fit. One whose predecessor was
  seen, winning or losing, is a beaten writer's or a resent batch: ignored and counted. One whose
  predecessor was never seen is damage: `LedgerCorrupt`, and reads stop.
- State, head, log offset and intake positions move in one write batch.
- A beaten entry's record key is destroyed: its body counts for nothing and would outlive erasure.
- A missing record key means *erased* only where the ledger says so: a later entry of the chain
  follows up the one whose body it was, for the same record. Otherwise the fold stops.
- The same code serves the worker, the gateways' followers and a rebuild: all hold the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from projections import keys
from projections.evolve import Evolution, evolve
from projections.ports import Anchor, KeyValueStore, Log, LogRecord, Vault
from projections.rows import Checkpoint, HeadRow, Present, ReceiptRow, Row
from projections.state import Overlay, StoreReader, fresh_checkpoint
from projections.step import Due
from schemas.bodies import Body, RefusedBody, decode_body, event_id_of, with_quote_key
from schemas.entry import GENESIS, NO_FOLLOW_UP, Entry, MalformedEntry, parse_entry
from schemas.errors import LedgerCorrupt, Unavailable
from schemas.sealing import Hasher, unseal

BATCH = 1000
KNOWN = 16_384  # heads that are kept decoded, beside the latest batch


class Decided(msgspec.Struct, frozen=True, gc=False):
    """The receipt that an intake record (kind, offset) was given.

    A repeat's receipt is the first's, so it does not tell its own place.
    """

    kind: int
    offset: int
    receipt: ReceiptRow


class Folded(NamedTuple):
    """What a stretch of ledger did: entries folded, dues it raised."""

    entries: int
    due: list[Due]


class Follower:
    """One partition's state, moved along by its ledger. One thread at a time."""

    def __init__(
        self,
        partition: int,
        log: Log,
        ledger: str,
        store: KeyValueStore,
        vault: Vault,
        hasher: Hasher,
    ) -> None:
        self.partition = partition
        self.log = log
        self.ledger = ledger
        self.store = store
        self.vault = vault
        self.hasher = hasher
        self.reader = StoreReader(store)
        self.moved: dict[bytes, Anchor] = {}
        self._heads: dict[bytes, HeadRow] = {}
        self._known: dict[bytes, Row | None] = {}
        self._later: dict[int, Entry] = {}
        self._scanned = (-1, GENESIS)
        self.on_receipts: Callable[[Sequence[Decided]], None] | None = None  # after a commit
        self.on_fold: Callable[[Sequence[Decided]], None] | None = None  # before what was folded

    def checkpoint(self) -> Checkpoint:
        """How far the store is."""
        return self.reader.checkpoint() or fresh_checkpoint(self.log.identity())

    def overlay(self) -> Overlay:
        """A fresh overlay on what is committed."""
        return Overlay(self.store, self.checkpoint(), self._known)

    def check_log(self) -> None:
        """Refuse a log that is not the one that was folded, or that ends before the checkpoint."""
        checkpoint = self.checkpoint()
        if checkpoint.identity != self.log.identity():
            raise Unavailable(
                f"partition {self.partition}",
                "its store was folded from another ledger: the topic was re-created, or this is "
                "another cluster",
                "restore that ledger, or remove the store to fold this one anew",
            )
        end = self.log.end(self.ledger, self.partition)
        if end < checkpoint.next_offset:
            missing = checkpoint.next_offset - end
            raise LedgerCorrupt(
                self.partition,
                checkpoint.count,
                "truncated",
                f"the log ends {missing} records before what was folded",
            )

    def catch_up(self, limit: int | None = None, end: int = 0) -> Folded:
        """Fold what the ledger has beyond the checkpoint, up to its end (or `limit` records).

        Who knows that it reaches up to `end` may say so: no more is then asked for.
        """
        entries = 0
        due: list[Due] = []
        left = limit
        while left is None or left > 0:
            start = self.checkpoint().next_offset
            if 0 < end <= start:
                break
            size = BATCH if left is None else min(BATCH, left)
            records = self.log.read(self.ledger, self.partition, start, size, end)
            if not records:
                break
            folded = self.fold(records)
            entries += folded.entries
            due += folded.due
            left = None if left is None else left - len(records)
        return Folded(entries, due)

    def fold(self, records: Sequence[LogRecord]) -> Folded:
        """Fold ledger records that follow the checkpoint and commit them in one batch."""
        overlay = self.overlay()
        parsed = [self._parse(record) for record in records]
        key_ids = [entry.header.key_id for entry in parsed]
        record_keys = self.vault.get_many(key_ids)
        due: list[Due] = []
        receipts: list[Decided] = []
        for record, entry, key in zip(records, parsed, record_keys, strict=True):
            if not self._extends(overlay, entry, record.offset):
                self._doom_beaten(overlay, entry, key)
                continue
            body = self._open(entry, key)
            evolution = evolve(overlay, entry, body, record.offset, self.hasher)
            due.extend(evolution.due)
            receipts.append(decided(entry, evolution))
        if self.on_fold is not None and receipts:
            self.on_fold(receipts)
        self.commit(overlay, receipts)
        return Folded(len(receipts), due)

    def commit(self, overlay: Overlay, receipts: Sequence[Decided]) -> None:
        """Write an overlay in one batch, destroy the keys it doomed, tell who waits."""
        self.store.write(overlay.encoded())
        self._note(overlay)
        if overlay.doomed:
            self.destroy(overlay.doomed)
        if self.on_receipts is not None and receipts:
            self.on_receipts(receipts)

    def _note(self, overlay: Overlay) -> None:
        """Keep the rows that are read again soon, and the heads for the anchors."""
        for key, row in overlay.heads.items():
            self.moved[key[1:]] = Anchor(row.count, row.hash)
        if len(self._heads) > KNOWN:
            self._heads = {}
        self._heads.update(overlay.heads)
        self._known = {**self._heads, **overlay.pending}

    def destroy(self, key_ids: Sequence[bytes]) -> None:
        """Destroy record keys, then forget that they were to be destroyed."""
        self.vault.erase(key_ids)
        self.store.write({keys.doomed_key(key_id): None for key_id in key_ids})

    def destroy_leftovers(self) -> None:
        """Finish what a crash between commit and destruction left."""
        left = [key[1:] for key, _ in self.store.scan(keys.ALL_DOOMED)]
        if left:
            self.destroy(left)

    def _parse(self, record: LogRecord) -> Entry:
        try:
            return parse_entry(record.value)
        except MalformedEntry as error:
            count = self.checkpoint().count
            raise LedgerCorrupt(
                self.partition, count, "malformed", f"{error} (log offset {record.offset})"
            ) from None

    def _extends(self, overlay: Overlay, entry: Entry, offset: int) -> bool:
        checkpoint, header = overlay.at, entry.header
        if header.previous == checkpoint.hash and header.sequence == checkpoint.count:
            if header.recorded_at <= checkpoint.recorded_at:
                raise LedgerCorrupt(
                    self.partition, header.sequence, "time", "its recorded time does not increase"
                )
            return True
        if not self._seen(overlay, header.sequence - 1, header.previous):
            raise LedgerCorrupt(
                self.partition,
                checkpoint.count,
                "chain",
                f"an entry whose predecessor was never seen (log offset {offset})",
            )
        overlay.put(keys.beaten(entry.hash), Present(header.recorded_at))
        checkpoint.next_offset = offset + 1
        checkpoint.ignored += 1
        return False

    @staticmethod
    def _seen(overlay: Overlay, sequence: int, entry_hash: bytes) -> bool:
        if sequence < 0:
            return sequence == -1 and entry_hash == GENESIS
        winner = overlay.entry(sequence)
        if winner is not None and winner.hash == entry_hash:
            return True
        return overlay.row(keys.beaten(entry_hash)) is not None

    @staticmethod
    def _doom_beaten(overlay: Overlay, entry: Entry, key: bytes | None) -> None:
        """Destroy a beaten entry's key, unless it is the chain's own come twice or not its key."""
        header = entry.header
        winner = overlay.entry(header.sequence)
        resent = winner is not None and winner.hash == entry.hash
        if not resent and key and unseal(key, entry.sealed, entry.header_bytes) is not None:
            overlay.doom(header.key_id, header.recorded_at)

    def _open(self, entry: Entry, key: bytes | None) -> Body:
        if key is not None:
            return open_body(self.partition, entry, key)
        later = self._follow_ups().get(entry.header.sequence)
        if later is None or _record_of(later) != _record_of(entry):
            raise LedgerCorrupt(
                self.partition,
                entry.header.sequence,
                "missing_key",
                "its record key is not in the vault and no later entry says that it was erased",
            )
        (key,) = self.vault.get_many([later.header.key_id])
        replacing = self._open(later, key)
        return RefusedBody(event_id_of(replacing), entry.header.kind, None)

    def _follow_ups(self) -> dict[int, Entry]:
        """Every later entry of the chain that replaces another's body, by that other's sequence."""
        checkpoint = self.checkpoint()
        at, head = max(self._scanned, (checkpoint.next_offset, checkpoint.hash), key=lambda s: s[0])
        while records := self.log.read(self.ledger, self.partition, at, BATCH):
            for entry in map(self._parse, records):
                if entry.header.previous != head:
                    continue
                head = entry.hash
                if entry.header.follows != NO_FOLLOW_UP:
                    self._later[entry.header.follows] = entry
            at = records[-1].offset + 1
        self._scanned = at, head
        return self._later


def _record_of(entry: Entry) -> tuple[bytes, bytes, int, int]:
    """Which record an entry is of, and where its event stood."""
    header = entry.header
    return header.scope, header.record, header.topic, header.offset


def decided(entry: Entry, evolution: Evolution) -> Decided:
    """The receipt with the place of the intake record that it answers."""
    return Decided(entry.header.kind, entry.header.offset, evolution.receipt)


def open_body(partition: int, entry: Entry, key: bytes) -> Body:
    """Unseal and decode an entry's body; `LedgerCorrupt` if it does not fit key or header."""
    data = unseal(key, entry.sealed, entry.header_bytes)
    if data is None:
        raise LedgerCorrupt(
            partition, entry.header.sequence, "body", "its body does not fit its key and header"
        )
    try:
        return with_quote_key(decode_body(entry.header, data), key)
    except msgspec.MsgspecError as error:
        raise LedgerCorrupt(partition, entry.header.sequence, "body", str(error)) from None
