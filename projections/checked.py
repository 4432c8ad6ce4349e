"""A store whose rows are authenticated: "reads check what they serve" (SPEC §5).

Rules
- Each row ends in a MAC over its key and value under a key of its installation and partition, so a
  row that was altered, injected or taken from another store stops the read that meets it, by name.
- A row that is missing is noticed by the rows that speak of it (`state`, `glances`), and a row that
  was put back to an older state by `verify --deep` alone: a MAC says whose a row is, not how old.
- The MAC is the first 8 bytes of SHA-256 over secret (32), key length (1), key and row; what is
  left out of the digest keeps anybody from extending it. Processors have instructions for it, and
  it is made and looked at for every row.
Layout of a stored value: the row, then its MAC.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy

from projections.ports import KeyValueStore
from schemas.errors import StoreDamaged

MAC_BYTES = 8


class CheckedStore:
    """A `KeyValueStore` over another one; raises `StoreDamaged` for a row that is not its own."""

    def __init__(self, inner: KeyValueStore, key: bytes) -> None:
        self.inner = inner
        self._mac = _macs(key)
        self._get = inner.get

    def over(self, inner: KeyValueStore) -> CheckedStore:
        """A store with the same key over another one."""
        other = copy(self)
        other.inner, other._get = inner, inner.get
        return other

    def get(self, key: bytes) -> bytes | None:
        """The row, or None."""
        value = self._get(key)
        return None if value is None else self._opened(key, value)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows in the order of `keys`."""
        values = zip(keys, self.inner.get_many(keys), strict=True)
        return [None if value is None else self._opened(key, value) for key, value in values]

    def scan(
        self, prefix: bytes, *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows under a prefix, as they are at the time of the call."""
        return self._checked(self.inner.scan(prefix, start=start, reverse=reverse))

    def _checked(self, pairs: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """As `_opened`, written out: a call a row less is 6% of the calls of a first question."""
        mac = self._mac
        for key, value in pairs:
            row = value[:-MAC_BYTES]
            if mac(key, row) != value[-MAC_BYTES:]:
                raise _foreign(key)
            yield key, row

    def write(self, changes: Mapping[bytes, bytes | None], *, sync: bool = False) -> None:
        """Apply all changes or none."""
        mac = self._mac
        self.inner.write(
            {k: None if row is None else row + mac(k, row) for k, row in changes.items()},
            sync=sync,
        )

    def close(self) -> None:
        """Let the inner store go."""
        self.inner.close()

    def _opened(self, key: bytes, value: bytes) -> bytes:
        """The row in a value as `inner` has it."""
        row = value[:-MAC_BYTES]
        if self._mac(key, row) != value[-MAC_BYTES:]:
            raise _foreign(key)
        return row


def _macs(secret: bytes) -> Callable[[bytes, bytes], bytes]:
    """Makes the MAC of a key and its row."""
    started = hashlib.sha256(secret).copy
    lengths = [bytes((length,)) for length in range(256)]

    def mac(key: bytes, row: bytes) -> bytes:
        state = started()
        state.update(lengths[len(key)] + key + row)
        return state.digest()[:MAC_BYTES]

    return mac


def _foreign(key: bytes) -> StoreDamaged:
    return StoreDamaged(f"row {key[:1].decode('latin-1')} {key[1:].hex()}", "was not written here")
