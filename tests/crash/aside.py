"""Intake that a process drops once it is admitted, kept aside: the model needs all of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from projections.ports import LogRecord
from schemas.errors import Unavailable

Placed = dict[tuple[str, int, int], LogRecord]


def keep_dropped(log: Any, aside: Path) -> None:
    """Have a `Log` write to a file what it is about to truncate."""
    truncate: Callable[[str, int, int], None] = log.truncate

    def keep_and_truncate(topic: str, partition: int, before: int) -> None:
        try:
            start = log.start(topic, partition)
            records = log.read(topic, partition, start, before - start)
        except Unavailable:  # a rival dropped, and kept, them meanwhile
            records = []
        with aside.open("ab") as file:
            pickle.dump([tuple(record) for record in records], file)
        truncate(topic, partition, before)

    log.truncate = keep_and_truncate


def dropped(files: Iterable[Path]) -> Placed:
    """What was kept aside, by place; a list that a kill tore was not dropped from the log."""
    found: Placed = {}
    for path in files:
        with path.open("rb") as file:
            while file.peek(1):
                try:
                    records = pickle.load(file)
                except (EOFError, pickle.UnpicklingError):
                    break
                found |= placed(map(LogRecord._make, records))
    return found


def placed(records: Iterable[LogRecord]) -> Placed:
    """Records by topic, partition and offset."""
    return {(record.topic, record.partition, record.offset): record for record in records}
