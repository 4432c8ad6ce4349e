"""Faults of the embedded process: killed at any moment or exact point, frozen, torn, robbed."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from mnemolog.data_directory import DataDirectory
from schemas.errors import StoreLocked
from tests.chaos.embedded_child import Place, main
from tests.chaos.world import Fault, Stretch
from tests.crash.embedded_child import DROPS, OPENINGS, POINTS, READS, REBUILDS
from tests.crash.fuse import cut_newest_log

PARTITIONS = 2
SECONDS = 60.0


class Died(Exception):
    """The process is gone, and nobody knows how far it came."""


class EmbeddedWorld:
    """One data directory, and the process that has it."""

    def __init__(self, path: Path, feed: tuple[int, ...]) -> None:
        self._feed = feed
        self._place = Place(path / "data", path / "home", path / "dropped")
        self._directory = DataDirectory(self._place.data, {})
        self._directory.init(PARTITIONS)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.chaos.embedded_child"])
        self._process: ForkServerProcess | None = None
        self._pipe: Connection | None = None
        self._opening = False

    def faults(self) -> Mapping[str, Fault]:
        """See `World`."""
        return {
            "kill": self._kill,
            "kill at a point": self._kill_at_a_point,
            "kill while opening": self._kill_while_opening,
            "kill in a rebuild": self._kill_in_a_rebuild,
            "kill, and the last write is torn": self._tear,
            "kill, and the projections are lost": self._lose,
            "freeze": self._freeze,
            "restart": self._restart,
            "rebuild": self._rebuild,
            "publish twice": self._twice,
            "a second process": self._intrude,
        }

    def check(self) -> list[str]:
        """See `World`."""
        return list(self._until_done("check"))

    def close(self) -> None:
        """See `World`."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    # Faults

    def _kill(self, rng: random.Random, stretch: Stretch) -> str:
        after = rng.uniform(0, 0.08)
        self._send("publish", *stretch)
        time.sleep(after)
        self._die()
        self._until_done("publish", *stretch)
        return f"{after * 1000:.0f} ms after the call"

    def _kill_at_a_point(self, rng: random.Random, stretch: Stretch) -> str:
        point = rng.choice((*POINTS, *READS, *DROPS))
        n = rng.randint(1, 6)
        self._arm(point, n)
        self._until_done("publish", *stretch)
        return f"passing {n} of {point}"

    def _kill_while_opening(self, rng: random.Random, stretch: Stretch) -> str:
        point = rng.choice((*OPENINGS, "commit.after", "erase.after", "read-back.after"))
        self._die()
        self._arm(point, 1)
        self._until_done("publish", *stretch)
        return point

    def _kill_in_a_rebuild(self, rng: random.Random, stretch: Stretch) -> str:
        self._until_done("publish", *stretch)
        if rng.random() < 0.5:
            point = rng.choice(REBUILDS)
            self._arm(point, rng.randint(1, 2))
            self._until_done("replay")
            return point
        after = rng.uniform(0, 0.05)
        self._send("replay")
        time.sleep(after)
        self._die()
        return f"{after * 1000:.0f} ms after its beginning"

    def _tear(self, rng: random.Random, stretch: Stretch) -> str:
        self._until_done("publish", *stretch)
        self._die()
        current = json.loads((self._place.data / "state" / "CURRENT").read_text())["generation"]
        store = self._place.data / "state" / current / f"p{rng.randrange(PARTITIONS)}"
        by = rng.randint(1, 48)
        newest = max(store.glob("*.log"), key=lambda path: int(path.stem))
        if newest.stat().st_size > by:
            cut_newest_log(store, by)
        return f"by {by} bytes"

    def _lose(self, _: random.Random, stretch: Stretch) -> str:
        self._until_done("publish", *stretch)
        self._die()
        shutil.rmtree(self._place.data / "state")
        return "state/"

    def _freeze(self, rng: random.Random, stretch: Stretch) -> str:
        seconds = rng.uniform(0.01, 0.3)
        self._send("publish", *stretch)
        self._signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._signal(signal.SIGCONT)
        try:
            self._answer()
        except Died:
            self._until_done("publish", *stretch)
        return f"{seconds * 1000:.0f} ms"

    def _restart(self, _: random.Random, stretch: Stretch) -> str:
        self._until_done("publish", *stretch)
        self._until_done("close")
        self._forget()
        return "in good order"

    def _rebuild(self, _: random.Random, stretch: Stretch) -> str:
        self._until_done("publish", *stretch)
        return f"of {self._until_done('replay')} entries"

    def _twice(self, _: random.Random, stretch: Stretch) -> str:
        self._until_done("publish", *stretch)
        self._until_done("publish", *stretch)
        return f"events {stretch[0]} to {stretch[1] - 1}"

    def _intrude(self, _: random.Random, stretch: Stretch) -> str:
        self._until_done("publish", *stretch)
        intruder = DataDirectory(self._place.data, {})
        try:
            intruder.acquire()
        except StoreLocked:
            return "is refused"
        intruder.release()
        raise AssertionError("a second process was given the directory")

    # The process

    def _arm(self, point: str, n: int) -> None:
        """A process that will die at a point, if it gets there."""
        self._die()
        self._start(point, n)

    def _start(self, point: str = "", n: int = 1) -> None:
        pipe, told = self._context.Pipe()
        self._process = self._context.Process(
            target=main, args=(self._place, self._feed, point, n, told), daemon=True
        )
        self._process.start()
        told.close()
        self._pipe, self._opening = pipe, True

    def _send(self, *command: Any) -> None:
        """Give a command to a process that has opened; if one dies over that, to the next."""
        while True:
            try:
                if self._pipe is None:
                    self._start()
                if self._opening:
                    self._answer()
                    self._opening = False
                assert self._pipe is not None
                self._pipe.send(command)
                return
            except Died:
                self._forget()

    def _answer(self) -> Any:
        assert self._pipe is not None
        assert self._process is not None
        if not self._pipe.poll(SECONDS):
            raise AssertionError(f"no answer within {SECONDS:g} s")
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            if self._process.exitcode != -signal.SIGKILL:
                raise AssertionError(f"it ended with {self._process.exitcode}") from None
            raise Died from None

    def _until_done(self, *command: Any) -> Any:
        """A command's answer, given again to the next process if one dies over it."""
        while True:
            try:
                self._send(*command)
                return self._answer()
            except Died:
                self._forget()

    def _die(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._forget()

    def _signal(self, number: int) -> None:
        assert self._process is not None
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def _forget(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None
