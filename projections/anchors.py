"""Anchors: heads in a SQLite file of the user's state directory (port `Anchors`; SPEC §3).

Each row carries a MAC over (store, partition, scope, count, hash), so a row that was altered, or
brought from another store, is named as damage instead of believed. A file that was deleted or
replaced while it was open is looked at anew, and a head that is not the one written here last is
damage: nothing else may write to it.
"""

from __future__ import annotations

import hmac
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from projections.ports import Anchor
from schemas.errors import LedgerCorrupt, Unavailable

_TABLE = """
CREATE TABLE IF NOT EXISTS anchors (
    store TEXT, partition INTEGER, scope BLOB, entries INTEGER, hash BLOB, mac BLOB,
    PRIMARY KEY (store, partition, scope)
) WITHOUT ROWID
"""
_HEADS = "SELECT scope, entries, hash, mac FROM anchors WHERE store = ? AND partition = ?"


class FileAnchors:
    """Anchors on disk; `key` is 32 bytes, `store` the identity they belong to."""

    exclusive = True

    def __init__(self, path: Path, key: bytes, store: str) -> None:
        self._path = path
        self._key = key
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[int, Anchor] = {}
        with self._lock, self._named():
            self._connect()

    def read(self, partition: int, scope: bytes = b"") -> Anchor | None:
        """The last anchor written, or None."""
        return self.all(partition).get(scope)

    def all(self, partition: int) -> dict[bytes, Anchor]:
        """Every anchor of a partition by scope."""
        with self._lock, self._named():
            self._again_if_replaced()
            rows = self._db.execute(_HEADS, (self._store, partition)).fetchall()
        found = {}
        for scope, entries, head, mac in rows:
            found[bytes(scope)] = self._authentic(partition, scope, entries, head, mac)
        return found

    def write(self, partition: int, heads: Mapping[bytes, Anchor]) -> None:
        """Replace the given heads, all or none; `LedgerCorrupt` if another hand wrote here."""
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
        with self._lock, self._named():
            self._again_if_replaced()
            with self._db:
                self._refuse_another_hand(partition)
                self._db.executemany("INSERT OR REPLACE INTO anchors VALUES (?,?,?,?,?,?)", rows)
            if b"" in heads:
                self._known[partition] = heads[b""]

    def forget(self, partition: int) -> None:
        """Remove a partition's anchors: an operator trusts the ledger as found."""
        with self._lock, self._named():
            self._again_if_replaced()
            with self._db:
                self._db.execute(
                    "DELETE FROM anchors WHERE store = ? AND partition = ?",
                    (self._store, partition),
                )
            self._known.pop(partition, None)

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def _refuse_another_hand(self, partition: int) -> None:
        """What was written last must still stand there."""
        known = self._known.get(partition)
        if known is None:
            return
        row = self._db.execute(_HEADS + " AND scope = ?", (self._store, partition, b"")).fetchone()
        if row is None or (row[1], bytes(row[2])) != known:
            what = "anchor_missing" if row is None else "anchor_rolled_back"
            detail = f"the anchor in {self._path} is not the one written last"
            raise LedgerCorrupt(partition, known.entries, what, detail)

    def _authentic(
        self, partition: int, scope: bytes, entries: object, head: object, mac: object
    ) -> Anchor:
        if (
            isinstance(entries, int)
            and isinstance(head, bytes)
            and isinstance(mac, bytes)
            and hmac.compare_digest(mac, self._mac(partition, scope, Anchor(entries, head)))
        ):
            return Anchor(entries, head)
        at = entries if isinstance(entries, int) else 0
        raise LedgerCorrupt(partition, at, "anchor", f"an anchor in {self._path} was altered")

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

    # The file

    def _connect(self) -> None:
        if str(self._path) != ":memory:":
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._db = sqlite3.connect(str(self._path), check_same_thread=False)
        self._db.execute(_TABLE)
        self._db.commit()
        self._file = self._which_file()

    def _which_file(self) -> tuple[int, int] | None:
        """What tells the file from another one of its name; None where it is not there."""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def _again_if_replaced(self) -> None:
        if self._which_file() != self._file:
            self._db.close()
            self._connect()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Faults of the file, named."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise Unavailable(
                "anchors",
                f"{self._path}: {error}",
                "restore the file; without it the ledger can only be trusted as found",
            ) from error


class MemoryAnchors(FileAnchors):
    """Anchors that live as long as the object."""

    def __init__(self, key: bytes = bytes(32), store: str = "memory") -> None:
        super().__init__(Path(":memory:"), key, store)
