"""The embedded runtime as it runs, with its threads, and told over a pipe what to do.

Beside it a reader never stops asking, so that a read during any fault shows. Dropped intake is kept
aside for the reference model. The schedule is left out: the histories' times are long past.
"""

from __future__ import annotations

import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from mnemolog.data_directory import DataDirectory
from projections.ports import LogRecord
from schemas.entry import parse_entry
from schemas.master import MasterKey
from tests.crash.aside import dropped, keep_dropped, placed
from tests.crash.child import only_errors
from tests.crash.embedded_child import TOPICS, Told, fit
from tests.crash.feed import Feed, unanswered
from tests.crash.fuse import Fuse

SETTLE_S = 30.0


class Place(NamedTuple):
    """Where a run lives: data directory, state home, and what was dropped from the intake."""

    data: Path
    state_home: Path
    dropped: Path


class Unscheduled(Told):
    """Publishes no expiry of its own."""

    def run_schedule(self) -> int:
        return 0


def main(place: Place, feed: tuple[int, ...], point: str, n: int, told: Connection) -> None:
    """Serve commands until the pipe ends, or the fuse burns."""
    only_errors()  # the faults are told elsewhere
    env = {"XDG_STATE_HOME": str(place.state_home)}
    directory, master = DataDirectory(place.data, env), MasterKey.load(place.data, env)
    fit(Fuse(point, n), directory, lambda log: keep_dropped(log, place.dropped))
    runtime = Unscheduled(directory, master)
    served = _Served(runtime, Feed(*feed), place.dropped)
    told.send("ready")
    while True:
        try:
            command, *arguments = told.recv()
        except EOFError:
            break
        told.send(getattr(served, command)(*arguments))
        if command == "close":
            break


class _Served:
    """The commands."""

    def __init__(self, runtime: Unscheduled, feed: Feed, dropped: Path) -> None:
        self.runtime = runtime
        self.feed = feed
        self.dropped = dropped
        self.broken: list[str] = []
        self.stop = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def publish(self, start: int, end: int) -> int:
        """Publish a part of the feed; how many."""
        said = self.feed.said[start:end]
        return len(self.runtime.publish([(one.kind, one.event) for one in said]))

    def replay(self) -> int:
        """Rebuild; the entries."""
        return sum(self.runtime.replay().values())

    def close(self) -> str:
        """End in good order."""
        self.stop.set()
        self.reader.join()
        self.runtime.close()
        return "closed"

    def check(self) -> list[str]:
        """Wait until all is admitted, then say what is wrong."""
        runtime, found = self.runtime, list(self.broken)
        deadline = time.monotonic() + SETTLE_S
        while not self._settled():
            if time.monotonic() > deadline:
                return [*found, "the intake is not admitted in time", *runtime.problems()]
            runtime.log.wait({}, 0.01)
        verified = runtime.verify(deep=True)
        found += [f"verify: {damage}" for damage in verified.damage]
        for number in range(runtime.partitions):
            entries = [parse_entry(r.value) for r in self._all(TOPICS.ledger, number)]
            places = [
                (kind, offset)
                for kind, topic in TOPICS.intake.items()
                for offset in range(runtime.log.end(topic, number))
            ]
            found += unanswered(entries, places)
        followers = [part.follower for part in runtime._parts]
        return found + self.feed.differences(self._recorded(), TOPICS, followers)

    def _settled(self) -> bool:
        runtime = self.runtime
        return all(
            part.positions[kind] == runtime.log.end(topic, number)
            for number, part in enumerate(runtime._parts)
            for kind, topic in TOPICS.intake.items()
        )

    def _recorded(self) -> list[LogRecord]:
        """The whole intake; what a kill left both in the log and aside is there once."""
        found = dropped([self.dropped] if self.dropped.exists() else [])
        for topic in TOPICS.intake.values():
            for number in range(self.runtime.partitions):
                found |= placed(self._all(topic, number))
        return list(found.values())

    def _all(self, topic: str, partition: int) -> list[LogRecord]:
        log = self.runtime.log
        return log.read(topic, partition, log.start(topic, partition), 1_000_000)

    def _read(self) -> None:
        """Ask for what stands in each partition, over and over."""
        while not self.stop.wait(0.002):
            for number in range(self.runtime.partitions):
                try:
                    with self.runtime.reading(number) as reader:
                        checkpoint = reader.checkpoint()
                        if checkpoint is not None and checkpoint.count:
                            row = reader.entry(checkpoint.count - 1)
                            if row is None or row.hash != checkpoint.hash:
                                self.broken.append("a reader saw a head that is not there")
                    for _ in self.runtime.entries(number):
                        break
                except Exception as error:  # noqa: BLE001 - told by the next check
                    self.broken.append(f"a read failed: {error!r}")
                    return
