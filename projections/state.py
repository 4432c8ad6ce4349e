"""Typed reading and writing of a partition's state, over any `KeyValueStore`.

A `Reader` only reads. An `Overlay` is one with uncommitted rows on top: `evolve` puts its changes
there, and the writer flushes them in one batch with the checkpoint, so state and position move
together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from projections import keys
from projections.ports import KeyValueStore
from projections.rows import (
    Checkpoint,
    Document,
    EntryRow,
    FactList,
    FactRow,
    GroupSize,
    HeadRow,
    Links,
    ObservationRow,
    Present,
    ReceiptRow,
    Row,
    SubjectRow,
    Used,
    WorkingSetRow,
    decode_row,
    encode_row,
)
from schemas.entry import GENESIS
from schemas.errors import StoreDamaged

NO_SUBJECT = SubjectRow((), -1, GENESIS)
NO_HEAD = HeadRow(0, -1, GENESIS, 0, 0)
NO_LINKS = Links((), (), 0)
NOT_BEFORE_EVERYTHING = -(2**63)
_UNREAD = Present(-1)


def fresh_checkpoint(identity: str) -> Checkpoint:
    """The checkpoint of a partition of which nothing has been folded."""
    return Checkpoint(identity, 0, GENESIS, NOT_BEFORE_EVERYTHING, 0, [0] * 14, 0)


class Reader:
    """Typed getters over rows; `row`, `scan` and `raw` are what an implementation gives."""

    def row(self, key: bytes) -> Any:
        """The row under a key, of the type that `rows` states for its prefix, or None."""
        raise NotImplementedError

    def scan(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, Row]]:
        """Rows in key order under a prefix, from a key on."""
        raise NotImplementedError

    def raw(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        """Stored bytes of rows that are no structs (posting blocks)."""
        raise NotImplementedError

    def checkpoint(self) -> Checkpoint | None:
        """How far the fold has come; None in a fresh store."""
        row: Checkpoint | None = self.row(keys.CHECKPOINT)
        return row

    def entry(self, sequence: int) -> EntryRow | None:
        """Where an entry stands."""
        row: EntryRow | None = self.row(keys.entry(sequence))
        return row

    def subject(self, subject16: bytes) -> SubjectRow:
        """A subject's barriers (none: `NO_SUBJECT`)."""
        return self.row(keys.subject(subject16)) or NO_SUBJECT

    def head(self, scope16: bytes) -> HeadRow:
        """A scope's own head (fresh: `NO_HEAD`)."""
        return self.row(keys.head(scope16)) or NO_HEAD

    def used(self, idempotency16: bytes) -> Used | None:
        """The first use of an idempotency key."""
        row: Used | None = self.row(keys.idempotency(idempotency16))
        return row

    def receipt(self, event16: bytes) -> ReceiptRow | None:
        """What became of an event."""
        row: ReceiptRow | None = self.row(keys.receipt(event16))
        return row

    def observation(self, scope16: bytes, record16: bytes) -> ObservationRow | None:
        """An owned observation id."""
        row: ObservationRow | None = self.row(keys.observation(scope16, record16))
        return row

    def fact(self, scope16: bytes, record16: bytes) -> FactRow | None:
        """An owned fact id."""
        row: FactRow | None = self.row(keys.fact(scope16, record16))
        return row

    def document(self, scope16: bytes, ordinal: int) -> Document | None:
        """The text of a record."""
        row: Document | None = self.row(keys.document(scope16, ordinal))
        return row

    def links(self, record16: bytes) -> Links:
        """What waits for a record, and which facts cite it (nothing: `NO_LINKS`)."""
        return self.row(keys.links(record16)) or NO_LINKS

    def citing(self, record16: bytes) -> Sequence[bytes]:
        """Facts that cite a record, in order of admission."""
        links = self.links(record16)
        if not links.chunks:
            return links.facts
        facts: list[bytes] = []
        for chunk in range(links.chunks):
            row: FactList | None = self.row(keys.citations(record16, chunk))
            if row is None:
                raise StoreDamaged(f"citations {record16.hex()} {chunk}")
            facts += row.facts
        return [*facts, *links.facts]

    def workingset(self, scope16: bytes, record16: bytes) -> WorkingSetRow | None:
        """A working set."""
        row: WorkingSetRow | None = self.row(keys.workingset(scope16, record16))
        return row

    def members(self, scope16: bytes, attribute16: bytes) -> list[bytes]:
        """The owned facts (hashes) of one (entity, attribute), as many as there are to be."""
        prefix = keys.group(scope16, attribute16)
        found = [key[len(prefix) :] for key, _ in self.scan(prefix)]
        size: GroupSize | None = self.row(keys.group_size(scope16, attribute16))
        if len(found) != (size.facts if size else 0):
            raise StoreDamaged(f"a fact of the group {attribute16.hex()}")
        return found

    def group(self, scope16: bytes, attribute16: bytes) -> list[tuple[bytes, FactRow]]:
        """All owned facts of one (entity, attribute)."""
        found = []
        for record16 in self.members(scope16, attribute16):
            row = self.fact(scope16, record16)
            if row is None:
                raise StoreDamaged(f"fact {record16.hex()}")
            found.append((record16, row))
        return found


class StoreReader(Reader):
    """Reads committed state."""

    def __init__(self, store: KeyValueStore) -> None:
        self.store = store

    def raw(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        """Committed bytes."""
        return self.store.get_many(wanted)

    def row(self, key: bytes) -> Any:
        """The committed row under a key."""
        data = self.store.get(key)
        return None if data is None else decode_row(key, data)

    def scan(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, Row]]:
        """Committed rows under a prefix, from a key on."""
        for key, data in self.store.scan(prefix, start=start or None):
            yield key, decode_row(key, data)


class Overlay(Reader):
    """Committed state with uncommitted changes on top, for as long as nothing else is committed."""

    def __init__(
        self, store: KeyValueStore, at: Checkpoint, known: Mapping[bytes, Row | None] | None = None
    ) -> None:
        """`at` becomes this overlay's own; `known` are committed rows that need no reading."""
        self._base = StoreReader(store)
        self._get = store.get
        self._known = known or {}
        self._rows: dict[bytes, Row | None] = {}  # what was read or put
        self.at = at
        self.pending: dict[bytes, Row | None] = {}
        self.heads: dict[bytes, HeadRow] = {}  # those that moved, by their keys
        self.doomed: list[bytes] = []  # record keys to destroy once this is committed
        self._blocks: dict[bytes, bytes] = {}

    def checkpoint(self) -> Checkpoint:
        """How far this overlay has come."""
        return self.at

    def put(self, key: bytes, row: Row | None) -> None:
        """Put a row on top; None deletes."""
        self._rows[key] = self.pending[key] = row

    def put_head(self, scope16: bytes, row: HeadRow) -> None:
        """Put a scope's head on top."""
        key = keys.head(scope16)
        self._rows[key] = self.pending[key] = self.heads[key] = row

    def doom(self, key_id: bytes, since: int) -> None:
        """Let a record key be destroyed; remembered until it is."""
        self.put(keys.doomed_key(key_id), Present(since))
        self.doomed.append(key_id)

    def put_raw(self, key: bytes, row: bytes) -> None:
        """Put bytes that are no struct on top."""
        self._blocks[key] = row

    def raw(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        """Pending, else committed bytes."""
        committed = zip(wanted, self._base.raw(wanted), strict=True)
        return [self._blocks.get(key, row) for key, row in committed]

    def row(self, key: bytes) -> Any:
        """The pending row, else the committed one, which is read once."""
        row = self._rows.get(key, _UNREAD)
        if row is _UNREAD:
            row = self._known.get(key, _UNREAD)
            if row is _UNREAD:
                data = self._get(key)
                row = self._rows[key] = None if data is None else decode_row(key, data)
        return row

    def scan(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, Row]]:
        """Pending and committed rows under a prefix, from a key on, in key order."""
        own = {key for key in self.pending if key.startswith(prefix) and key >= start}
        merged: dict[bytes, Row] = {
            key: row for key, row in self._base.scan(prefix, start) if key not in own
        }
        for key in own:
            row = self.row(key)
            if row is not None:
                merged[key] = row
        yield from sorted(merged.items())

    def encoded(self) -> dict[bytes, bytes | None]:
        """The pending changes and the checkpoint as bytes for one write batch."""
        rows = {key: None if row is None else encode_row(row) for key, row in self.pending.items()}
        rows[keys.CHECKPOINT] = encode_row(self.at)
        rows.update(self._blocks)
        return rows


def cutoff_of(subject: SubjectRow, until: int | None = None) -> tuple[int, bool]:
    """(cutoff in ms, blocked) of the barriers recorded up to `until` (None: all)."""
    cutoff, blocked = NOT_BEFORE_EVERYTHING, False
    for barrier in subject.barriers:
        if until is None or barrier.recorded_at <= until:
            cutoff = max(cutoff, barrier.cutoff_ms)
            blocked = blocked or barrier.blocks
    return cutoff, blocked
