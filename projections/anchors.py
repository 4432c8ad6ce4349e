"""Anchors: heads in a SQLite file of the user's state directory (port `Anchors`; SPEC §3).

Each row carries a MAC over (store, partition, scope, count, hash), so a row that was altered, or
brought from another store, is named as damage instead of believed.
"""

from __future__ import annotations

import hmac
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path

from projections.ports import Anchor
from schemas.errors import LedgerCorrupt, Unavailable

_TABLE = """
CREATE TABLE IF NOT EXISTS anchors (
    store TEXT, partition INTEGER, scope BLOB, entries INTEGER, hash BLOB, mac BLOB,
    PRIMARY KEY (store, partition, scope)
) WITHOUT ROWID
"""


class FileAnchors:
    """Anchors on disk; `key` is 32 bytes, `store` the identity they belong to."""

    def __init__(self, path: Path, key: bytes, store: str) -> None:
        self._path = path
        self._key = key
        self._store = store
        self._lock = threading.Lock()
        try:
            if str(path) != ":memory:":
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._db = sqlite3.connect(str(path), check_same_thread=False)
            self._db.execute(_TABLE)
            self._db.commit()
        except (OSError, sqlite3.Error) as error:
            raise self._broken(error) from error

    def read(self, partition: int, scope: bytes = b"") -> Anchor | None:
        """The last anchor written, or None."""
        return self.all(partition).get(scope)

    def all(self, partition: int) -> dict[bytes, Anchor]:
        """Every anchor of a partition by scope."""
        try:
            with self._lock:
                rows = self._db.execute(
                    "SELECT scope, entries, hash, mac FROM anchors WHERE store = ? "
                    "AND partition = ?",
                    (self._store, partition),
                ).fetchall()
        except sqlite3.Error as error:
            raise self._broken(error) from error
        found = {}
        for scope, entries, head, mac in rows:
            anchor = Anchor(entries, head)
            if not isinstance(mac, bytes) or not hmac.compare_digest(
                mac, self._mac(partition, scope, anchor)
            ):
                raise LedgerCorrupt(
                    partition, entries, "anchor", f"an anchor in {self._path} was altered"
                )
            found[bytes(scope)] = anchor
        return found

    def write(self, partition: int, heads: Mapping[bytes, Anchor]) -> None:
        """Replace the given heads, all or none."""
        rows = [
            (
                self._store,
                partition,
                scope,
                anchor.entries,
                anchor.hash,
                self._mac(partition, scope, anchor),
            )
            for scope, anchor in heads.items()
        ]
        try:
            with self._lock, self._db:
                self._db.executemany("INSERT OR REPLACE INTO anchors VALUES (?,?,?,?,?,?)", rows)
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def _mac(self, partition: int, scope: bytes, anchor: Anchor) -> bytes:
        parts = (
            self._store.encode(),
            str(partition).encode(),
            bytes(scope),
            str(anchor.entries).encode(),
            bytes(anchor.hash),
        )
        data = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hmac.digest(self._key, b"anchor" + data, "sha256")

    def _broken(self, error: Exception) -> Unavailable:
        return Unavailable(
            "anchors",
            f"{self._path}: {error}",
            "restore the file; without it the ledger can only be trusted as found",
        )


class MemoryAnchors(FileAnchors):
    """Anchors that live as long as the object."""

    def __init__(self, key: bytes = bytes(32), store: str = "memory") -> None:
        super().__init__(Path(":memory:"), key, store)
