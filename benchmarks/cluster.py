"""The cluster's real processes on a real broker: workers and a gateway, as a user starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.kafka import installation
from benchmarks.run import Run
from benchmarks.workload import Said
from mnemolog.cluster import PREFIX_VARIABLE, Installation
from schemas.master import KEY_VARIABLE
from schemas.principals import LOCAL

PARTITIONS = 4
CHUNK = 5000
PATIENCE_S = 120.0
SETTLED_S = 0.5
TICKS = os.sysconf("SC_CLK_TCK")


class Window(NamedTuple):
    """From the first tenth of some events to the last; seconds, and CPU seconds of all workers."""

    events: int
    seconds: float
    cpu: float


class Cluster:
    """Fresh topics and the processes over them."""

    def __init__(self, run: Run, workers: int, *, gateway: bool) -> None:
        self.path = run.directory("cluster")
        self.installation: Installation = installation(run, PARTITIONS, self.path)
        self._prefix = os.environ[PREFIX_VARIABLE]
        self._publisher = self.installation.publisher(LOCAL, PARTITIONS)
        self._processes: list[subprocess.Popen[str]] = []
        run.closing.callback(self.close)
        self.workers = [self._start("worker", n) for n in range(workers)]
        wait_until(lambda: self._spread(workers), "the workers share the partitions")
        self.url = ""
        self.gateway: subprocess.Popen[str] | None = None
        if gateway:
            self.gateway = self._start("gateway", 0, "--port", "0")
            assert self.gateway.stdout is not None
            self.url = json.loads(self.gateway.stdout.readline())["url"]

    def _start(self, verb: str, number: int, *more: str) -> subprocess.Popen[str]:
        broker = self.installation.settings.bootstrap
        command = [sys.executable, "-m", "mnemolog", "--data", str(self.path), "--json", verb]
        env = {
            **os.environ,
            KEY_VARIABLE: b"bench".ljust(32, b".").hex(),
            PREFIX_VARIABLE: self._prefix,
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }
        with self._log(verb, number).open("w") as errors:
            started = subprocess.Popen(
                [*command, "--kafka", broker, *more],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=env,
            )
        self._processes.append(started)
        return started

    def _log(self, verb: str, number: int) -> Path:
        return self.path / f"{verb}-{number}.log"

    def _spread(self, workers: int) -> bool:
        """Whether each worker holds its share of the partitions."""
        held = []
        for n in range(workers):
            said = self._log("worker", n).read_text()
            held.append(said.count('"partition taken"') - said.count('"partition let go"'))
        return held == [PARTITIONS // workers] * workers

    def feed(self, said: Iterable[Said], tell: Callable[[int], None] = lambda done: None) -> int:
        """Publish events, acknowledged, as `local`; how many."""
        rest, done = iter(said), 0
        while chunk := list(islice(rest, CHUNK)):
            self._publisher.publish(chunk)
            done += len(chunk)
            tell(done)
        return done

    def entries(self) -> int:
        """How many entries the ledger has."""
        ledger = self.installation.topics.ledger
        places = [(ledger, number) for number in range(PARTITIONS)]
        return sum(self.installation.kafka.offsets(places, latest=True))

    def drained(self, start: int, count: int) -> Window:
        """Wait until `count` events beyond `start` are admitted and nothing more comes."""
        wait_until(lambda: self.entries() >= start + count // 10, "the first events are admitted")
        first, began, cpu = self.entries(), time.perf_counter(), self.cpu()
        last, at, spent = first, began, cpu
        deadline = began + PATIENCE_S + count / 500
        while last < start + count or time.perf_counter() - at < SETTLED_S:
            if time.perf_counter() > deadline:
                raise TimeoutError(f"{last - start} of {count} events were admitted in time")
            time.sleep(0.02)
            now = self.entries()
            if now > last:
                last, at, spent = now, time.perf_counter(), self.cpu()
        return Window(start + count - first, at - began, spent - cpu)

    def cpu(self) -> float:
        """CPU seconds of the workers so far."""
        total = 0
        for worker in self.workers:
            fields = Path(f"/proc/{worker.pid}/stat").read_text().rpartition(") ")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICKS

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        self._publisher.close()
        self.installation.kafka.close()


def memory(process: subprocess.Popen[str], field: str) -> float:
    """MiB of a process by /proc: VmRSS now, VmHWM at most so far."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"/proc/{process.pid}/status has no {field}")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Look every 50 ms; `TimeoutError` saying what did not come about."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE_S:g} s until {what}")
        time.sleep(0.05)


@contextmanager
def cluster(run: Run, workers: int, *, gateway: bool) -> Iterator[Cluster]:
    """A cluster for one row alone."""
    made = Cluster(run, workers, gateway=gateway)
    try:
        yield made
    finally:
        made.close()
