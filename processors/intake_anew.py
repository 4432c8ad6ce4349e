"""Going on behind an intake topic that was made anew (SPEC §3 "Admission resumes …").

The ledger states the position that its intake is read from. A topic made anew starts at offset 0:
what it holds below that position would never be read. So the position is filled up to with empty
records, what the topic held below it is appended once more behind it, and all below is dropped.
"""

from __future__ import annotations

from projections.ports import Log, LogRecord

BATCH = 1000


def go_on_behind(log: Log, topic: str, partition: int, position: int) -> int:
    """Move what stands below `position` behind it; how many records were moved."""
    held = _held(log, topic, partition, position)
    while (missing := position - log.end(topic, partition)) > 0:
        log.append(topic, partition, [(None, ())] * min(missing, BATCH))
    for at in range(0, len(held), BATCH):
        again = held[at : at + BATCH]
        log.append(topic, partition, [(record.value, record.headers) for record in again])
    log.truncate(topic, partition, position)
    return len(held)


def _held(log: Log, topic: str, partition: int, before: int) -> list[LogRecord]:
    found: list[LogRecord] = []
    at = log.start(topic, partition)
    while records := log.read(topic, partition, at, BATCH):
        found += [one for one in records if one.offset < before]
        at = records[-1].offset + 1
        if at >= before:
            break
    return found
