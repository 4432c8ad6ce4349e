"""A store whose rows are authenticated: "reads check what they serve" (SPEC §5).

Rules
- Each row ends in a MAC over its key and value under a key of its installation and partition, so a
  row that was altered, injected or taken from another store stops the read that meets it, by name.
- A row that is missing is noticed by the rows that speak of it (`state`, `glances`), and a row that
  was put back to an older state by `verify --deep` alone: a MAC says whose a row is, not how old.
Layout of a stored value: the row, then BLAKE2b keyed (8 bytes) over key length (1), key, row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from projections.ports import KeyValueStore
from schemas.errors import StoreDamaged

MAC_BYTES = 8


class CheckedStore:
    """A `KeyValueStore` over another one; raises `StoreDamaged` for a row that is not its own."""

    def __init__(self, inner: KeyValueStore, key: bytes) -> None:
        self.inner = inner
        self._keyed = hashlib.blake2b(digest_size=MAC_BYTES, key=key, person=b"projection-row")
        self._get = inner.get

    def over(self, inner: KeyValueStore) -> CheckedStore:
        """A store with the same key over another one."""
        other = CheckedStore(inner, b"")
        other._keyed = self._keyed
        return other

    def get(self, key: bytes) -> bytes | None:
        """The row, or None."""
        value = self._get(key)
        return None if value is None else self.opened(key, value)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows in the order of `keys`."""
        values = zip(keys, self.inner.get_many(keys), strict=True)
        return [None if value is None else self.opened(key, value) for key, value in values]

    def scan(
        self, prefix: bytes, *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows under a prefix, as they are at the time of the call."""
        pairs = self.inner.scan(prefix, start=start, reverse=reverse)
        return ((key, self.opened(key, value)) for key, value in pairs)

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

    def _mac(self, key: bytes, row: bytes) -> bytes:
        state = self._keyed.copy()
        state.update(b"%c%b" % (len(key), key))
        state.update(row)
        return state.digest()

    def opened(self, key: bytes, value: bytes) -> bytes:
        """The row in a value as `inner` has it."""
        row = value[:-MAC_BYTES]
        if self._mac(key, row) != value[-MAC_BYTES:]:
            name = f"row {key[:1].decode('latin-1')} {key[1:].hex()}"
            raise StoreDamaged(name, "was not written here")
        return row
