"""The embedded log in memory: the twin of the RocksDB log for tests."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence

from projections.ports import Headers, LogRecord
from schemas.errors import Unavailable


class MemoryLog:
    """A `Log` that lives as long as the object."""

    def __init__(self, partitions: int, clock_ms: Callable[[], int]) -> None:
        self.partitions = partitions
        self._clock_ms = clock_ms
        self._identity = uuid.uuid4().hex
        self._records: dict[tuple[str, int], list[LogRecord]] = {}
        self._starts: dict[tuple[str, int], int] = {}
        self._changed = threading.Condition()
        self._open = True

    def identity(self) -> str:
        """A random id."""
        return self._identity

    def append(
        self, topic: str, partition: int, records: Sequence[tuple[bytes | None, Headers]]
    ) -> list[int]:
        """Append in order."""
        with self._changed:
            self._check()
            stored = self._records.setdefault((topic, partition), [])
            first = len(stored)
            now = self._clock_ms()
            if stored:
                now = max(now, stored[-1].append_ms)
            for value, headers in records:
                stored.append(LogRecord(topic, partition, len(stored), now, value, tuple(headers)))
            self._changed.notify_all()
            return list(range(first, len(stored)))

    def read(
        self, topic: str, partition: int, offset: int, limit: int, end: int = 0
    ) -> list[LogRecord]:
        """What is there from `offset` on."""
        self._check()
        if offset < self.start(topic, partition):
            raise truncated(topic, partition, offset, self.start(topic, partition))
        return self._records.get((topic, partition), [])[offset : offset + limit]

    def start(self, topic: str, partition: int) -> int:
        """The first offset that is still there."""
        self._check()
        return self._starts.get((topic, partition), 0)

    def end(self, topic: str, partition: int) -> int:
        """The next offset."""
        self._check()
        return len(self._records.get((topic, partition), ()))

    def truncate(self, topic: str, partition: int, before: int) -> None:
        """Forget what lies before."""
        with self._changed:
            key = (topic, partition)
            self._starts[key] = max(self.start(*key), min(before, self.end(*key)))

    def wait(self, ends: Mapping[tuple[str, int], int], timeout: float) -> bool:
        """Wait for something beyond the given ends."""
        with self._changed:
            return self._changed.wait_for(
                lambda: any(self.end(*key) > end for key, end in ends.items()), timeout
            )

    def close(self) -> None:
        """Wake who waits; nothing is read or written any more."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def _check(self) -> None:
        if not self._open:
            raise closed("log")


def closed(part: str) -> Unavailable:
    """What using something raises after it was closed."""
    return Unavailable(part, "it is closed", "open it again")


def truncated(topic: str, partition: int, offset: int, start: int) -> Unavailable:
    """What reading before a partition's start raises."""
    return Unavailable(
        f"{topic}/{partition}",
        f"records {offset} to {start - 1} are gone from the log",
        "restore the log, or rebuild from a backup that has them",
    )
