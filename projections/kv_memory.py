"""An ordered map in memory: the twin of the RocksDB store for tests and fresh folds."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

from sortedcontainers import SortedDict

from schemas.errors import Unavailable


class MemoryStore:
    """A `KeyValueStore` that lives as long as the object."""

    def __init__(self) -> None:
        self._rows: SortedDict[bytes, bytes] = SortedDict()
        self._lock = threading.Lock()
        self._open = True

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""
        self._check()
        return self._rows.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values in the order of `keys`."""
        self._check()
        return [self._rows.get(key) for key in keys]

    def scan(
        self, prefix: bytes, *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Pairs under a prefix, as they are at the time of the call."""
        self._check()
        with self._lock:
            low = prefix if start is None or reverse else start
            found = []
            for key in self._rows.irange(low):
                if not key.startswith(prefix):
                    break
                found.append((key, self._rows[key]))
        if reverse:
            found = [pair for pair in reversed(found) if start is None or pair[0] <= start]
        return self._while_open(found)

    def write(self, changes: Mapping[bytes, bytes | None], *, sync: bool = False) -> None:
        """Apply all changes."""
        self._check()
        with self._lock:
            for key, value in changes.items():
                if value is None:
                    self._rows.pop(key, None)
                else:
                    self._rows[key] = value

    def close(self) -> None:
        """Drop it."""
        self._open = False

    def _while_open(self, found: list[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        for pair in found:
            self._check()
            yield pair
        self._check()

    def _check(self) -> None:
        if not self._open:
            raise Unavailable("store", "it is closed", "open it again")
