"""Reading a partition's chain from the ledger's bytes alone (I1; SPEC §3). Folds nothing, no I/O.

Rules
- An entry extends the chain iff its hash fits its bytes, its predecessor is the head, its sequence
  is the next, its recorded time is later and its partition is this one.
- An entry whose predecessor was seen, winning or losing, is a beaten writer's or a resent batch:
  noted. One whose predecessor was never seen is damage, and nothing after it is believed.
- What is damaged is told by what stands after it: the next entry is *missing*, or comes later
  (*reordered*), or what stands here continues nothing (*foreign*).
The common case is one comparison of a few fields (2 µs an entry); faults are told at leisure.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from projections.ports import LogRecord
from schemas.entry import FORMAT_VERSION, GENESIS, HASH_BYTES, Entry, MalformedEntry, parse_entry
from schemas.entry_fields import FIXED_BYTES, LENGTH_BYTES, SMALLEST, chain_fields
from schemas.kinds import Decision, Kind, Reason

_KINDS = frozenset(int(kind) for kind in Kind)
_DECISIONS = frozenset(int(decision) for decision in Decision)
_REASONS = frozenset(int(reason) for reason in Reason)


class Flaw(NamedTuple):
    """A broken promise: the entry at which it shows (None: no single one), a stable code, words."""

    sequence: int | None
    what: str
    detail: str


class Ignored(NamedTuple):
    """An entry beside the chain: where it would stand in it, and where it stands in the log."""

    hash: bytes
    sequence: int
    previous: bytes
    offset: int
    resent: bool


class Chain:
    """One partition's chain as far as it was read. Hashes are kept: 32 bytes an entry."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.count = 0
        self.head = GENESIS
        self.flaws: list[Flaw] = []
        self.ignored: list[Ignored] = []
        self.broken = False
        self.broke_at = -1
        self._stranger: Entry | None = None
        self._hashes = bytearray()
        self._beside: dict[bytes, Ignored] = {}
        self._recorded_at = -(2**63)

    def hash_at(self, sequence: int) -> bytes | None:
        """The hash of an entry of the chain."""
        at = sequence * HASH_BYTES
        return bytes(self._hashes[at : at + HASH_BYTES]) if 0 <= sequence < self.count else None

    def extend(self, record: LogRecord) -> bool:
        """Whether the record is the chain's next entry; a flaw is noted, and may end the chain."""
        data = record.value
        if data is None or len(data) < SMALLEST:
            return self._at_leisure(record)
        version, kind, decision, reason, sequence, at, previous, partition, sources = chain_fields(
            data
        )
        body = FIXED_BYTES + 16 * sources + LENGTH_BYTES
        digest = sha256(data[:-HASH_BYTES]).digest()
        if (
            previous == self.head
            and sequence == self.count
            and at > self._recorded_at
            and partition == self.partition
            and version == FORMAT_VERSION
            and kind in _KINDS
            and decision in _DECISIONS
            and reason in _REASONS
            and data.endswith(digest)
            and int.from_bytes(data[body - LENGTH_BYTES : body], "big")
            == len(data) - body - HASH_BYTES
        ):
            self._hashes += digest
            self.head = digest
            self.count = sequence + 1
            self._recorded_at = at
            return True
        return self._at_leisure(record)

    def _at_leisure(self, record: LogRecord) -> bool:
        """The same, an entry that is not as it should be."""
        try:
            entry = parse_entry(record.value)
        except MalformedEntry as error:
            flaw = Flaw(self.count, "malformed", f"{error} (log offset {record.offset})")
            self._break(record, flaw)
            return False
        header = entry.header
        if header.partition != self.partition:
            detail = f"it belongs to partition {header.partition} (log offset {record.offset})"
            self._break(record, Flaw(self.count, "partition", detail))
            return False
        if header.previous == self.head and header.sequence == self.count:
            if header.recorded_at <= self._recorded_at:
                detail = "its recorded time does not increase"
                self.flaws.append(Flaw(header.sequence, "time", detail))
            self._recorded_at = header.recorded_at
            self._hashes += entry.hash
            self.head, self.count = entry.hash, header.sequence + 1
            return True
        if self._seen(entry):
            resent = self.hash_at(header.sequence) == entry.hash
            one = Ignored(entry.hash, header.sequence, header.previous, record.offset, resent)
            self.ignored.append(one)
            self._beside[entry.hash] = one
        else:
            self._break(record, Flaw(self.count, "chain", _says(entry, record)), entry)
        return False

    def _seen(self, entry: Entry) -> bool:
        """Whether the entry's predecessor was seen, winning or losing."""
        before, previous = entry.header.sequence - 1, entry.header.previous
        if before < 0:
            return before == -1 and previous == GENESIS
        return self.hash_at(before) == previous or previous in self._beside

    def _break(self, record: LogRecord, flaw: Flaw, stranger: Entry | None = None) -> None:
        self.flaws.append(flaw)
        self.broken, self.broke_at = True, record.offset
        self._stranger = stranger

    def explain(self, rest: Iterable[LogRecord]) -> None:
        """Tell a broken chain's flaw by what stands after it; `rest` follows the broken record."""
        stranger, at = self._stranger, self.count
        if stranger is None:
            return
        next_at, before_stranger = None, False
        for record in rest:
            try:
                entry = parse_entry(record.value)
            except MalformedEntry:
                continue
            before_stranger = before_stranger or entry.hash == stranger.header.previous
            if entry.header.previous == self.head and entry.header.sequence == at:
                next_at = record.offset
        missing = stranger.header.sequence - at
        if next_at is not None and before_stranger:
            detail = (
                f"it stands at log offset {next_at}, after entry {stranger.header.sequence}, "
                "which it should precede"
            )
            self.flaws[-1] = Flaw(at, "reordered", detail)
        elif missing > 0 and next_at is None:
            entries = "1 entry is" if missing == 1 else f"{missing} entries are"
            detail = f"{entries} missing: {self.flaws[-1].detail}"
            self.flaws[-1] = Flaw(at, "missing", detail)
        else:
            self.flaws[-1] = Flaw(at, "foreign", self.flaws[-1].detail)

    def fork(self, entry_hash: bytes) -> Ignored | None:
        """The ignored entry at which the way to `entry_hash` leaves the chain, if it does."""
        found = None
        while (beside := self._beside.get(entry_hash)) is not None and not beside.resent:
            found, entry_hash = beside, beside.previous
        return found


def _says(entry: Entry, record: LogRecord) -> str:
    return (
        f"what stands at log offset {record.offset} says it is entry {entry.header.sequence}, and "
        "its predecessor was never seen"
    )
