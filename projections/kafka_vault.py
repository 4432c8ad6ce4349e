"""The cluster's vault: key pages in the compacted `keys` topic, and a local store of them.

A page is up to 64 (key id, key) pairs of one batch under a random page id (the message key),
wrapped once. Erasing publishes the page again without the key, or a tombstone when it is empty;
compaction drops the old page. Only a partition's writer publishes; followers erase their own.
Local rows: K + key id → page id and wrapped key; P + page id → its key ids; O → next offset.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from projections.kafka_io import Kafka
from projections.kafka_log import KafkaLog
from projections.ports import KeyValueStore
from projections.vault import wrapped
from schemas.errors import Unavailable

PAGE = 64
_NONCE = 12
_PAIR = 48


class KafkaVault:
    """The keys of one partition; `publish` only for its writer."""

    def __init__(
        self,
        kafka: Kafka,
        log: KafkaLog,
        topic: str,
        partition: int,
        store: KeyValueStore,
        wrapping_key: bytes,
        *,
        publish: bool,
    ) -> None:
        self._kafka = kafka
        self._log = log
        self._topic = topic
        self._partition = partition
        self._store = store
        self._cipher = AESGCM(wrapping_key)
        self._publish = publish

    def put(self, keys: Sequence[tuple[bytes, bytes]]) -> None:
        """Publish the keys as pages, then keep them."""
        pages = [(os.urandom(16), keys[at : at + PAGE]) for at in range(0, len(keys), PAGE)]
        records = [(page, self._seal(page, pairs), ()) for page, pairs in pages]
        self._kafka.send(self._topic, self._partition, records)
        changes: dict[bytes, bytes | None] = {}
        for page, pairs in pages:
            changes |= self._rows(page, pairs)
        self._store.write(changes)

    def get_many(self, key_ids: Sequence[bytes]) -> list[bytes | None]:
        """The keys; what is missing is looked for in the topic first."""
        found = self._local(key_ids)
        if None in found and self._catch_up():
            found = self._local(key_ids)
        return found

    def erase(self, key_ids: Sequence[bytes]) -> None:
        """Destroy keys, here and (as the writer) in the topic."""
        self._catch_up()
        doomed: dict[bytes, set[bytes]] = {}
        for key_id, row in zip(
            key_ids, self._store.get_many([b"K" + key_id for key_id in key_ids]), strict=True
        ):
            if row is not None:
                doomed.setdefault(row[:16], set()).add(key_id)
        for page, gone in doomed.items():
            members = _split(self._store.get(b"P" + page) or b"", 16)
            left = [key_id for key_id in members if key_id not in gone]
            if self._publish:
                pairs = [
                    (key_id, key)
                    for key_id, key in zip(left, self._local(left), strict=True)
                    if key is not None
                ]
                value = self._seal(page, pairs) if pairs else None
                self._kafka.send(self._topic, self._partition, [(page, value, ())])
            changes: dict[bytes, bytes | None] = {b"K" + key_id: None for key_id in gone}
            changes[b"P" + page] = b"".join(left) or None
            self._store.write(changes, sync=True)

    def close(self) -> None:
        """Let the local store go."""
        self._store.close()

    def _local(self, key_ids: Sequence[bytes]) -> list[bytes | None]:
        rows = self._store.get_many([b"K" + key_id for key_id in key_ids])
        return [
            None if row is None else self._open(key_id, row[16:])
            for key_id, row in zip(key_ids, rows, strict=True)
        ]

    def _catch_up(self) -> bool:
        """Apply the pages published since the last time; whether there were any."""
        stored = self._store.get(b"O")
        at = (
            int.from_bytes(stored, "big")
            if stored
            else self._log.start(self._topic, self._partition)
        )
        end = self._log.end(self._topic, self._partition)
        if stored and at > end:
            raise Unavailable(
                f"vault {self._topic}/{self._partition}",
                f"the topic ends at {end} and was read up to {at}: it was made anew or truncated",
                "restore the topic from a backup",
            )
        read = False
        while at < end and (records := self._log.read(self._topic, self._partition, at, 500, end)):
            read = True
            for record in records:
                self._apply(record.key, record.value)
            at = records[-1].offset + 1
            self._store.write({b"O": at.to_bytes(8, "big")})
        return read

    def _apply(self, page: bytes, value: bytes | None) -> None:
        before = _split(self._store.get(b"P" + page) or b"", 16)
        changes: dict[bytes, bytes | None] = {b"K" + key_id: None for key_id in before}
        changes[b"P" + page] = None
        if value is not None:
            body = self._open(page, value)
            pairs = [(pair[:16], pair[16:]) for pair in _split(body, _PAIR)]
            changes |= self._rows(page, pairs)
        self._store.write(changes)

    def _rows(self, page: bytes, pairs: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes | None]:
        rows: dict[bytes, bytes | None] = {
            b"K" + key_id: page + key for key_id, key in wrapped(self._cipher, pairs)
        }
        rows[b"P" + page] = b"".join(key_id for key_id, _ in pairs)
        return rows

    def _seal(self, page: bytes, pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
        return self._wrap(page, b"".join(key_id + key for key_id, key in pairs))

    def _wrap(self, name: bytes, data: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, data, name)

    def _open(self, name: bytes, data: bytes) -> bytes:
        try:
            return self._cipher.decrypt(data[:_NONCE], data[_NONCE:], name)
        except InvalidTag:
            raise Unavailable(
                "vault",
                "the master key does not open the keys topic",
                "start every process with the same MNEMOLOG_MASTER_KEY",
            ) from None


def _split(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]
