"""The embedded log: every topic and partition in one RocksDB directory (port `Log`).

Keys, big-endian:   R  topic2  partition2  offset8   a record
                    S  topic2  partition2            the first offset that is still there (8
                                                     bytes) and the last append time (8)
                    N  topic name                    a topic's number
                    I                                identity
Value of a record:  append_ms q, headers H, then each header as H name H value with their lengths
                    before them, then B 1 and the value, or B 0 for a null value.
"""

from __future__ import annotations

import struct
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from projections.kv_rocks import RocksStore
from projections.log_memory import closed, truncated
from projections.ports import Headers, LogRecord
from schemas.errors import Unavailable

_PLACE = struct.Struct(">cHHQ")
_AREA = struct.Struct(">cHH")
_HEAD = struct.Struct(">qH")
_SIZE = struct.Struct(">H")
_MAX_HEADER = 65_535
READ_BYTES = 8 * 1024 * 1024

Place = tuple[str, int]
Records = Sequence[tuple[bytes | None, Headers]]


def encode_record(append_ms: int, value: bytes | None, headers: Headers) -> bytes:
    """Stored bytes of a record; see the layout above."""
    if not headers and value is not None:
        return b"%b\1%b" % (_HEAD.pack(append_ms, 0), value)
    parts = [_HEAD.pack(append_ms, len(headers))]
    for name, content in headers:
        raw = name.encode()
        parts += (_SIZE.pack(len(raw)), raw, _SIZE.pack(len(content)), content)
    parts += (b"\0",) if value is None else (b"\1", value)
    return b"".join(parts)


def decode_record(topic: str, partition: int, offset: int, data: bytes) -> LogRecord:
    """The record in stored bytes."""
    append_ms, count = _HEAD.unpack_from(data)
    at = _HEAD.size
    headers = []
    for _ in range(count):
        name, at = _sized(data, at)
        content, at = _sized(data, at)
        headers.append((name.decode(), content))
    value = data[at + 1 :] if data[at] else None
    return LogRecord(topic, partition, offset, append_ms, value, tuple(headers))


def _sized(data: bytes, at: int) -> tuple[bytes, int]:
    (size,) = _SIZE.unpack_from(data, at)
    at += _SIZE.size
    return data[at : at + size], at + size


class RocksLog:
    """A `Log` on disk for one process; append times never decrease within a topic partition.

    Acknowledged means on disk; without `sync` a killed process still loses nothing that was
    acknowledged, but a machine that loses power may.
    """

    def __init__(
        self,
        path: Path,
        partitions: int,
        clock_ms: Callable[[], int],
        *,
        create: bool = True,
        sync: bool = True,
        read_only: bool = False,
    ) -> None:
        self.partitions = partitions
        self._clock_ms = clock_ms
        self._sync = sync
        self._store = RocksStore(path, create=create, read_only=read_only)
        self._changed = threading.Condition()
        self._open = True
        self._topics: dict[str, int] = {
            key[1:].decode(): int.from_bytes(value, "big") for key, value in self._store.scan(b"N")
        }
        self._ends: dict[tuple[str, int], tuple[int, int]] = {}
        self._starts: dict[tuple[str, int], int] = {}
        identity = self._store.get(b"I")
        if identity is None and not create:
            raise self._lost(path)
        if identity is None:
            identity = uuid.uuid4().hex.encode()
            self._store.write({b"I": identity}, sync=True)
        self._identity = identity.decode()

    def identity(self) -> str:
        """A random id, made with the directory."""
        return self._identity

    def append(
        self, topic: str, partition: int, records: Sequence[tuple[bytes | None, Headers]]
    ) -> list[int]:
        """Append in order, in one write batch."""
        return self._append({(topic, partition): records})[topic, partition]

    def append_all(self, batches: Mapping[Place, Records]) -> dict[Place, list[int]]:
        """Append to several (topic, partition), all or nothing, with one wait for the disk."""
        return self._append(batches)

    def _append(self, batches: Mapping[Place, Records]) -> dict[Place, list[int]]:
        for (topic, partition), records in batches.items():
            self._check_fits(topic, partition, records)
        with self._changed:
            self._check()
            now = self._clock_ms()
            changes: dict[bytes, bytes | None] = {}
            ends: dict[Place, tuple[int, int]] = {}
            offsets: dict[Place, list[int]] = {}
            for (topic, partition), records in batches.items():
                number = self._number(topic)
                first, latest = self._end(topic, partition)
                at = max(now, latest)
                end = first + len(records)
                for offset, (value, headers) in enumerate(records, first):
                    key = _PLACE.pack(b"R", number, partition, offset)
                    changes[key] = encode_record(at, value, headers)
                ends[topic, partition] = (end, at)
                offsets[topic, partition] = list(range(first, end))
            self._store.write(changes, sync=self._sync)
            self._ends.update(ends)
            self._changed.notify_all()
            return offsets

    def _check_fits(self, topic: str, partition: int, records: Records) -> None:
        if not 0 <= partition < self.partitions:
            raise Unavailable(
                f"{topic}/{partition}",
                f"the log has {self.partitions} partitions",
                "use one that it has",
            )
        if any(len(content) > _MAX_HEADER for _, headers in records for _, content in headers):
            raise Unavailable(
                topic, "a record header is too large", f"keep it within {_MAX_HEADER} bytes"
            )

    def read(
        self, topic: str, partition: int, offset: int, limit: int, end: int = 0
    ) -> list[LogRecord]:
        """What is there from `offset` on; of large records no more than `READ_BYTES` and one."""
        start = self.start(topic, partition)
        if offset < start:
            raise truncated(topic, partition, offset, start)
        number = self._topics.get(topic)
        if number is None or limit <= 0:
            return []
        found: list[LogRecord] = []
        size = 0
        area = _AREA.pack(b"R", number, partition)
        place = _PLACE.pack(b"R", number, partition, offset)
        for key, data in self._store.scan(area, start=place):
            found.append(decode_record(topic, partition, int.from_bytes(key[5:], "big"), data))
            size += len(data)
            if len(found) == limit or size > READ_BYTES:
                break
        return found

    def start(self, topic: str, partition: int) -> int:
        """The first offset that is still there."""
        self._check()
        key = (topic, partition)
        if key not in self._starts:
            number = self._topics.get(topic)
            stored = None
            if number is not None:
                stored = self._store.get(_AREA.pack(b"S", number, partition))
            self._starts[key] = int.from_bytes(stored[:8], "big") if stored else 0
        return self._starts[key]

    def end(self, topic: str, partition: int) -> int:
        """The next offset."""
        self._check()
        known = self._ends.get((topic, partition))
        if known is not None:
            return known[0]
        with self._changed:
            return self._end(topic, partition)[0]

    def truncate(self, topic: str, partition: int, before: int) -> None:
        """Drop what lies before; the new start is kept, so offsets go on where they were."""
        with self._changed:
            start, (end, latest) = self.start(topic, partition), self._end(topic, partition)
            before = min(before, end)
            if before <= start:
                return
            number = self._number(topic)
            changes: dict[bytes, bytes | None] = {
                _PLACE.pack(b"R", number, partition, offset): None
                for offset in range(start, before)
            }
            kept = before.to_bytes(8, "big") + latest.to_bytes(8, "big")
            changes[_AREA.pack(b"S", number, partition)] = kept
            self._store.write(changes)
            self._starts[topic, partition] = before

    def wait(self, ends: Mapping[tuple[str, int], int], timeout: float) -> bool:
        """Wait for something beyond the given ends."""
        with self._changed:
            return self._changed.wait_for(
                lambda: any(self.end(*key) > end for key, end in ends.items()), timeout
            )

    def probe(self) -> None:
        """Write something that changes nothing; `Unavailable` if nothing can be written."""
        self._store.write({b"I": self._identity.encode()}, sync=True)

    def close(self) -> None:
        """Let the directory go and wake who waits."""
        with self._changed:
            self._open = False
            self._store.close()
            self._changed.notify_all()

    def _lost(self, path: Path) -> Unavailable:
        """A log that was made before says who it is; one that does not has lost its contents."""
        self._store.close()
        return Unavailable(
            f"store {path}", "it was made before and is empty now", "restore it from a backup"
        )

    def _check(self) -> None:
        if not self._open:
            raise closed("log")

    def _number(self, topic: str) -> int:
        number = self._topics.get(topic)
        if number is None:
            number = len(self._topics)
            self._store.write({b"N" + topic.encode(): number.to_bytes(2, "big")})
            self._topics[topic] = number
        return number

    def _end(self, topic: str, partition: int) -> tuple[int, int]:
        """(next offset, latest append time), found by a reverse seek the first time."""
        known = self._ends.get((topic, partition))
        if known is None:
            known = (self.start(topic, partition), 0)
            number = self._topics.get(topic)
            if number is not None:
                kept = self._store.get(_AREA.pack(b"S", number, partition))
                if kept is not None:
                    known = (known[0], int.from_bytes(kept[8:], "big"))
                area = _AREA.pack(b"R", number, partition)
                for key, data in self._store.scan(area, reverse=True):
                    known = (int.from_bytes(key[5:], "big") + 1, _HEAD.unpack_from(data)[0])
                    break
            self._ends[topic, partition] = known
        return known
