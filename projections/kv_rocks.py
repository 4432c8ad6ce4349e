"""An ordered map in a RocksDB directory (port `KeyValueStore`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rocksdict import DbClosedError, Rdict, RdictIter, ReadOptions, WriteBatch, WriteOptions

from projections.rocks import LAYOUT, bounded, open_rocks, open_to_read, unusable
from schemas.errors import Unavailable


class RocksStore:
    """A `KeyValueStore` on disk; scans read one consistent state.

    `layout` is that of its rows, `rebuild` what to type where they can be rebuilt (else ""): see
    `projections.rocks`. With `read_only` another process may hold it: what it has on disk now.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        layout: int = LAYOUT,
        rebuild: str = "",
        read_only: bool = False,
    ) -> None:
        self._path = path
        self._rebuild = rebuild
        self._db: Rdict = (
            open_to_read(path) if read_only else open_rocks(path, create, layout, rebuild)
        )
        self._open = True
        self._synced = WriteOptions()
        self._synced.sync = True

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""
        try:
            value: bytes | None = self._db.get(key)
        except DbClosedError:
            raise self._closed() from None
        except Exception as error:  # rocksdict raises bare Exception for whatever RocksDB says
            raise self._unreadable(error) from error
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values in the order of `keys`."""
        if not keys:
            return []
        try:
            values = self._db.get(list(keys))
        except DbClosedError:
            raise self._closed() from None
        except Exception as error:  # rocksdict raises bare Exception for whatever RocksDB says
            raise self._unreadable(error) from error
        return list(values or ())

    def scan(
        self, prefix: bytes, *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Pairs under a prefix, as they are at the time of the call."""
        try:
            reading = bounded(prefix)
            cursor: RdictIter = self._db.iter(reading)
        except DbClosedError:
            raise self._closed() from None
        if not reverse:
            cursor.seek(start or prefix)
        elif start is not None:
            cursor.seek_for_prev(start)
        else:
            cursor.seek_to_last()
        return self._pairs(cursor, reading, prefix, reverse)

    def write(self, changes: Mapping[bytes, bytes | None], *, sync: bool = False) -> None:
        """Apply all changes or none."""
        batch = WriteBatch(raw_mode=True)
        for key, value in changes.items():
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        try:
            if sync:
                self._db.write(batch, self._synced)
            else:
                self._db.write(batch)
        except DbClosedError:
            raise self._closed() from None
        except Exception as error:  # rocksdict raises bare Exception for whatever RocksDB says
            raise self._unwritten(error) from error

    def close(self) -> None:
        """Let the directory go."""
        if self._open:
            self._open = False
            try:
                self._db.close()
            except Exception as error:  # rocksdict raises bare Exception for what RocksDB says
                raise self._unwritten(error) from error

    def _closed(self) -> Unavailable:
        return Unavailable(f"store {self._path}", "it is closed", "open it again")

    def _pairs(
        self, cursor: RdictIter, reading: ReadOptions, prefix: bytes, reverse: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        """Walk a cursor. `reading` owns the bound that RocksDB compares with: it must outlive it.

        A cursor outlives its closed database, so each step asks whether the store is open.
        """
        step = cursor.prev if reverse else cursor.next
        while self._open and cursor.valid():
            key: bytes = cursor.key()
            if not key.startswith(prefix):
                return
            yield key, cursor.value()
            step()
        if not self._open:
            raise self._closed()
        try:
            cursor.status()  # a damaged block ends a cursor like an end does, and says so only here
        except Exception as error:  # rocksdict raises bare Exception for whatever RocksDB says
            raise self._unreadable(error) from error
        del reading

    def _unreadable(self, error: Exception) -> Unavailable:
        """What a read over damaged bytes raises: never an empty or shortened answer."""
        return unusable(self._path, f"its bytes cannot be read: {error}", self._rebuild)

    def _unwritten(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"store {self._path}",
            f"it cannot be written: {error}",
            "free or mend the disk; if writing does not go on by itself in 10 s, restart",
        )
