"""The vault: record keys, each wrapped by AES-GCM under a key-encryption key (port `Vault`).

The key id is associated data, so a wrapped key cannot be moved under another id. Erasing deletes
the row; what RocksDB still holds of it until compaction is useless without the wrapping key and is
the subject of the erasure report.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from projections.kv_memory import MemoryStore
from projections.kv_rocks import RocksStore
from projections.ports import KeyValueStore
from schemas.errors import Unavailable

_CHECK = b"check"
_NONCE = 12


class WrappedVault:
    """A `Vault` over any `KeyValueStore`."""

    def __init__(self, store: KeyValueStore, wrapping_key: bytes, *, create: bool = True) -> None:
        self._store = store
        self._cipher = AESGCM(wrapping_key)
        known = store.get(_CHECK)
        if known is not None:
            self._check(known)
        elif next(store.scan(b""), None) is None:
            if not create:
                raise Unavailable(
                    "vault", "it was made before and is empty now", "restore it from a backup"
                )
            store.write({_CHECK: self._wrap(_CHECK, b"mnemolog")}, sync=True)
        else:
            raise Unavailable(
                "vault",
                "it holds keys, but not the row that tells which master key is theirs",
                "restore it from a backup",
            )

    def put(self, keys: Sequence[tuple[bytes, bytes]]) -> None:
        """Store wrapped keys, on disk when it returns: a key outlives whatever it seals."""
        self._store.write(dict(wrapped(self._cipher, keys)), sync=True)

    def get_many(self, key_ids: Sequence[bytes]) -> list[bytes | None]:
        """The keys, None where there is none."""
        rows = self._store.get_many(key_ids)
        return [
            None if row is None else self._unwrap(key_id, row)
            for key_id, row in zip(key_ids, rows, strict=True)
        ]

    def erase(self, key_ids: Sequence[bytes]) -> None:
        """Destroy keys."""
        self._store.write(dict.fromkeys(key_ids), sync=True)

    def close(self) -> None:
        """Let the store go."""
        self._store.close()

    def _wrap(self, key_id: bytes, key: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, key, key_id)

    def _check(self, row: bytes) -> None:
        try:
            self._cipher.decrypt(row[:_NONCE], row[_NONCE:], _CHECK)
        except InvalidTag:
            raise Unavailable(
                "vault",
                "the master key does not open it",
                "start with the master key it was made with (MNEMOLOG_MASTER_KEY, master.key)",
            ) from None

    def _unwrap(self, key_id: bytes, row: bytes) -> bytes:
        try:
            return self._cipher.decrypt(row[:_NONCE], row[_NONCE:], key_id)
        except InvalidTag:
            raise Unavailable(
                "vault", f"the wrapped key {key_id.hex()} is damaged", "restore it from a backup"
            ) from None


def wrapped(cipher: AESGCM, keys: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """Each key id with its nonce and wrapped key; randomness is drawn once for all."""
    drawn = os.urandom(_NONCE * len(keys))
    nonces = (drawn[at : at + _NONCE] for at in range(0, len(drawn), _NONCE))
    for (key_id, key), nonce in zip(keys, nonces, strict=True):
        yield key_id, nonce + cipher.encrypt(nonce, key, key_id)


class MemoryVault(WrappedVault):
    """A vault that lives as long as the object."""

    def __init__(self, wrapping_key: bytes = bytes(32)) -> None:
        super().__init__(MemoryStore(), wrapping_key)


class RocksVault(WrappedVault):
    """A vault in a RocksDB directory."""

    def __init__(self, path: Path, wrapping_key: bytes, *, create: bool = True) -> None:
        store = RocksStore(path, create=create)
        try:
            super().__init__(store, wrapping_key, create=create)
        except BaseException:
            store.close()
            raise
