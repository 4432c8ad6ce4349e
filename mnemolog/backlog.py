"""How much may wait to be decided: beyond that nothing more is taken (back-pressure).

A request is taken whole or refused whole, before anything of it is written; what was taken is in
the log and is decided in its turn. The bound is a partition's own, so that a busy subject fills no
other's. It is the number of receipts that are kept for those who wait for them.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from gateway.errors import TooMany


class Backlog:
    """Room for `limit` undecided events a partition; `waiting` says how many there are."""

    def __init__(self, waiting: Callable[[int], int], limit: int) -> None:
        self._waiting = waiting
        self._limit = limit
        self._lock = threading.Lock()
        self._entering: Counter[int] = Counter()

    @contextmanager
    def room(self, counts: Mapping[int, int]) -> Iterator[None]:
        """Keep room for so many events a partition while they are appended; `TooMany` if none."""
        with self._lock:
            for partition, count in counts.items():
                waiting = self._waiting(partition) + self._entering[partition]
                if waiting + count > self._limit:
                    raise TooMany(
                        "intake_full",
                        f"{waiting} events wait to be decided and {count} more came",
                        "publish them again in a moment; nothing of the request was taken",
                        limit=f"{self._limit} waiting",
                    )
            self._entering.update(counts)
        try:
            yield
        finally:
            with self._lock:
                self._entering.subtract(counts)
