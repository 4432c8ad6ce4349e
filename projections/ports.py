"""The ports behind which every store and log stands; each states what it guarantees.

In-memory and RocksDB implementations pass one contract suite (`tests/contract/`), and the cluster's
adapters pass the same one where it applies. Faults: `schemas.errors.Unavailable` where a part does
not answer, `LedgerCorrupt` where its bytes are damaged; never an empty answer instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

Headers = tuple[tuple[str, bytes], ...]


class KeyValueStore(Protocol):
    """An ordered map of bytes. One writer, any number of reading threads."""

    def get(self, key: bytes) -> bytes | None:
        """The value, or None if the key is absent."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values in the order of `keys`."""

    def scan(
        self, prefix: bytes, *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Pairs whose key has the prefix, in key order (or reverse).

        `start` (a full key with that prefix, inclusive) is where to begin. Sees one consistent
        state: writes made after the call are not seen. Closing the store ends it, with
        `Unavailable`.
        """

    def write(self, changes: Mapping[bytes, bytes | None], *, sync: bool = False) -> None:
        """Apply all changes or none (None deletes). With `sync`, on disk when it returns."""

    def close(self) -> None:
        """Release the store; idempotent. Later calls raise `Unavailable`."""


class LogRecord(NamedTuple):
    """One record of a topic partition; `append_ms` is the log's own clock, in milliseconds.

    `key` is only there in compacted topics.
    """

    topic: str
    partition: int
    offset: int
    append_ms: int
    value: bytes | None
    headers: Headers
    key: bytes = b""


class Log(Protocol):
    """Topics of append-only partitions with offsets that grow; the log assigns append times.

    Append times of one partition of one topic never decrease. Offsets start at 0 and have no gaps
    in the embedded logs (a broker's may have some).
    """

    partitions: int

    def identity(self) -> str:
        """What tells this log from every other one; constant for its life."""

    def append(
        self, topic: str, partition: int, records: Sequence[tuple[bytes | None, Headers]]
    ) -> list[int]:
        """Append in order and return the offsets; acknowledged means durable."""

    def read(
        self, topic: str, partition: int, offset: int, limit: int, end: int = 0
    ) -> list[LogRecord]:
        """Up to `limit` records from `offset` on that are there now; may be empty.

        Who knows that the log reaches up to `end` says so, and it need not be asked.

        Raises `Unavailable` if `offset` lies before the partition's start (truncated).
        """

    def start(self, topic: str, partition: int) -> int:
        """The first offset that is still there."""

    def end(self, topic: str, partition: int) -> int:
        """The offset that the next record will get."""

    def truncate(self, topic: str, partition: int, before: int) -> None:
        """Drop the records with an offset below `before`."""

    def wait(self, ends: Mapping[tuple[str, int], int], timeout: float) -> bool:
        """Block until some (topic, partition) has an end beyond the given one, or the timeout.

        True if something came. Closing the log ends it, with `Unavailable`.
        """

    def close(self) -> None:
        """Release the log; idempotent. Later calls raise `Unavailable`."""


class Vault(Protocol):
    """Record keys (32 bytes) by random key id (16 bytes), wrapped at rest under the master key."""

    def put(self, keys: Sequence[tuple[bytes, bytes]]) -> None:
        """Store (key id, key) pairs; durable when it returns."""

    def get_many(self, key_ids: Sequence[bytes]) -> list[bytes | None]:
        """The keys in order; None for one that is not (or no longer) there."""

    def erase(self, key_ids: Sequence[bytes]) -> None:
        """Destroy keys for good; absent ones are ignored."""

    def close(self) -> None:
        """Release the vault; idempotent."""


class Anchor(NamedTuple):
    """Where a chain stood: how many entries, and the hash of the last (32 bytes)."""

    entries: int
    hash: bytes


class Anchors(Protocol):
    """Heads kept outside the ledger and outside the data directory, authenticated (SPEC §3).

    A partition's head has scope b"". Reading one whose MAC does not fit raises `LedgerCorrupt`.
    """

    exclusive: bool
    """One process at a time writes them, so that an older head in their place is no latecomer's."""

    def read(self, partition: int, scope: bytes = b"") -> Anchor | None:
        """The last anchor written, or None if there has been none."""

    def all(self, partition: int) -> dict[bytes, Anchor]:
        """Every anchor of a partition by scope hash (b"" is the partition's own)."""

    def write(self, partition: int, heads: Mapping[bytes, Anchor]) -> None:
        """Replace the given heads, all or none; where exclusive, never another hand's."""

    def forget(self, partition: int) -> None:
        """Remove a partition's anchors."""

    def close(self) -> None:
        """Release it; idempotent."""
