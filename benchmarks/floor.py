"""The floor: what any program must do for the same events, in straight lines and without a rule.

The same bytes decoded (fastavro), authenticated, tokenised, sealed and hashed; the same keys read
and the same keys and values written, in the product's own order and batches, by the calls that the
product made. A tape of one run of the product says which. What is synced to disk in the product is
synced here. Not in the floor: rules, wrapping of record keys, building of rows, reading the ledger
back (on Kafka it is).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from typing import Any, NamedTuple

from fastavro import schemaless_reader

from projections import text
from projections.ports import KeyValueStore, LogRecord
from schemas.entry import HASH_BYTES, parse_entry
from schemas.principals import Registry
from schemas.sealing import Hasher, RandomKeys, seal
from schemas.signing import verify
from schemas.topics import TopicNames
from schemas.writers import current_schema

Call = Callable[[KeyValueStore], object]
FRAME = 10  # bytes before an event's own
NONCE_AND_TAG = 28


class Tape:
    """A store that remembers every call, a list a batch."""

    def __init__(self, inner: KeyValueStore) -> None:
        self._inner = inner
        self._batches: list[list[Call]] = [[]]
        self.gets = self.scans = self.rows = self.bytes = 0
        self.close = inner.close

    def next_batch(self) -> None:
        """What is called from now on belongs to the next batch (the first is the opening's)."""
        self._batches.append([])

    def replay(self, number: int, store: KeyValueStore) -> None:
        """Make the calls of the n-th batch, from 0, to another store."""
        for call in self._batches[number + 1]:
            call(store)

    def get(self, key: bytes) -> bytes | None:
        """See `KeyValueStore`."""
        self.gets += 1
        self._batches[-1].append(lambda store: store.get(key))
        return self._inner.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """See `KeyValueStore`."""
        asked = list(keys)
        self.gets += len(asked)
        self._batches[-1].append(lambda store: store.get_many(asked))
        return self._inner.get_many(asked)

    def scan(
        self, prefix: bytes, *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """See `KeyValueStore`; as far as it was followed."""
        self.scans += 1
        followed = [0]

        def again(store: KeyValueStore) -> None:
            pairs = store.scan(prefix, start=start, reverse=reverse)
            for _ in range(followed[0]):
                next(pairs, None)

        self._batches[-1].append(again)
        for pair in self._inner.scan(prefix, start=start, reverse=reverse):
            followed[0] += 1
            yield pair

    def write(self, changes: Mapping[bytes, bytes | None], *, sync: bool = False) -> None:
        """See `KeyValueStore`."""
        rows = dict(changes)
        self.rows += len(rows)
        self.bytes += sum(len(key) + len(value or b"") for key, value in rows.items())
        self._batches[-1].append(lambda store: store.write(rows, sync=sync))
        self._inner.write(rows, sync=sync)


class Batch(NamedTuple):
    """What one batch came to: its intake records and the ledger entries that answered them."""

    records: Sequence[LogRecord]
    entries: Sequence[bytes]


class Floor:
    """The work that a workload asks for, in straight lines; the ports' share is the caller's."""

    def __init__(self, topics: TopicNames, registry: Registry, hasher: Hasher) -> None:
        self._schemas = {
            topic: (kind, current_schema(kind)) for topic, kind in topics.kind_of.items()
        }
        self._registry = registry
        self._hasher = hasher
        self._keys = RandomKeys()

    def spent(
        self, batches: Sequence[Batch], ports: Callable[[int, Batch], None]
    ) -> tuple[float, float]:
        """Seconds and CPU seconds of it all; `ports` reads and writes what the n-th batch does."""
        parts = [self._parts(batch.entries) for batch in batches]
        began, before = time.perf_counter(), time.process_time()
        for number, batch in enumerate(batches):
            for record in batch.records:
                self._receive(record)
            for head, body, hashed in parts[number]:
                seal(self._keys.draw(), body, head)
                sha256(hashed).digest()
            ports(number, batch)
        return time.perf_counter() - began, time.process_time() - before

    def _receive(self, record: LogRecord) -> None:
        kind, schema = self._schemas[record.topic]
        payload = record.value or b""
        fields: Any = schemaless_reader(BytesIO(payload[FRAME:]), schema, None)
        verify(kind, payload, record.headers, self._registry.verification_key)
        self._hasher.content(payload)
        content = fields.get("content")
        if content:
            text.tokens(content)

    @staticmethod
    def _parts(entries: Sequence[bytes]) -> list[tuple[bytes, bytes, bytes]]:
        """Header, as many bytes as the body has, and what is hashed, of each entry."""
        parsed = [(parse_entry(data), data[:-HASH_BYTES]) for data in entries]
        return [(e.header_bytes, e.sealed[NONCE_AND_TAG:], hashed) for e, hashed in parsed]
