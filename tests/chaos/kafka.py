"""Faults of workers on a broker of their own, and of the broker.

Workers join different consumer groups, so that often two own the same partitions: the group says
who tries, the chain says who wins. In the end one worker admits what is left.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from mnemolog.cluster import create_topics
from tests.broker import start_local
from tests.chaos.world import Fault, Stretch
from tests.cluster.conftest import PARTITIONS, Cluster
from tests.crash.child import only_errors
from tests.crash.cluster_child import POINTS, Plan
from tests.crash.feed import Feed
from tests.crash.installed import SECONDS, Installed

GROUPS = ("a", "b")
ENDS = (0, -signal.SIGKILL, -signal.SIGTERM)  # the last: told to end before it had begun


def _quiet(group: str, point: str = "", n: int = 1, sent: int = signal.SIGKILL) -> Plan:
    """A worker that drops what it admitted; faults are told elsewhere, so it logs errors only."""
    return Plan(group, point, n, sent, keep_intake=False, quiet=True)


def _wake(worker: ForkServerProcess) -> None:
    """Let it go on, if it has not ended."""
    assert worker.pid is not None
    if worker.is_alive():
        with suppress(ProcessLookupError):  # it may end meanwhile
            os.kill(worker.pid, signal.SIGCONT)


class KafkaWorld:
    """One broker, one installation, and the workers that are left of those that were started."""

    def __init__(self, path: Path, feed: tuple[int, ...], stack: ExitStack) -> None:
        only_errors()
        self._kafka, bootstrap = start_local(stack, path / "kafka")
        os.environ["MNEMOLOG_TOPIC_PREFIX"] = f"chaos-{uuid.uuid4().hex[:8]}"
        create_topics(bootstrap, PARTITIONS)
        data = path / "installation"
        data.mkdir()
        self._installed = Installed(Cluster(bootstrap, data), Feed(*feed))
        self._data = data
        self._workers: list[ForkServerProcess] = []
        self._frozen: list[ForkServerProcess] = []
        self._rounds = 0
        stack.callback(self.close)

    def faults(self) -> Mapping[str, Fault]:
        """See `World`."""
        return {
            "kill a worker": self._kill,
            "a worker that dies at a point": self._die_at_a_point,
            "a worker that stops at a point": self._stop_at_a_point,
            "freeze a worker": self._freeze,
            "wake the frozen": self._wake,
            "one more worker": self._start,
            "two workers on the same partitions": self._rivals,
            "a worker leaves": self._leave,
            "a worker loses its stores": self._lose,
            "a worker is given all twice": self._redeliver,
            "publish twice": self._twice,
            "restart the broker": self._restart_broker,
        }

    def check(self) -> list[str]:
        """See `World`: all workers end, one takes over, and its directory is looked at."""
        self._wake_all()
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            self._end(worker)
            if worker.exitcode not in ENDS:
                return [f"a worker ended with {worker.exitcode}", self._installed.where(worker)]
        self._workers.clear()
        self._rounds += 1
        self._installed.finish(_quiet(f"last-{self._rounds}"))
        return self._installed.wrong()

    @staticmethod
    def _end(worker: ForkServerProcess) -> None:
        """Wait for its end; one that stops at its point only now is woken again."""
        deadline = time.monotonic() + SECONDS
        while worker.is_alive() and time.monotonic() < deadline:
            _wake(worker)
            worker.join(0.2)

    def close(self) -> None:
        """See `World`."""
        for worker in (*self._workers, *self._frozen):
            worker.kill()
            worker.join()

    # Faults

    def _kill(self, rng: random.Random, stretch: Stretch) -> str:
        self._someone(rng)
        victim = self._workers.pop(rng.randrange(len(self._workers)))
        after = rng.uniform(0, 0.3)

        def kill() -> None:
            time.sleep(after)
            victim.kill()

        self._during(stretch, kill)
        victim.join()
        return f"{after * 1000:.0f} ms after the call"

    def _die_at_a_point(self, rng: random.Random, stretch: Stretch) -> str:
        plan = _quiet(rng.choice(GROUPS), rng.choice((*POINTS, "drop.after")), rng.randint(1, 5))
        self._workers.append(self._installed.worker(plan))
        self._publish(stretch)
        return f"passing {plan.n} of {plan.point}"

    def _stop_at_a_point(self, rng: random.Random, stretch: Stretch) -> str:
        plan = _quiet(
            rng.choice(GROUPS),
            rng.choice((*POINTS, "drop.after")),
            rng.randint(1, 3),
            signal.SIGSTOP,
        )
        self._frozen.append(self._installed.worker(plan))
        self._publish(stretch)
        return f"passing {plan.n} of {plan.point}"

    def _freeze(self, rng: random.Random, stretch: Stretch) -> str:
        self._someone(rng)
        one = self._workers.pop(rng.randrange(len(self._workers)))
        assert one.pid is not None
        os.kill(one.pid, signal.SIGSTOP)
        self._frozen.append(one)
        self._publish(stretch)
        return "until it is woken"

    def _wake(self, _: random.Random, stretch: Stretch) -> str:
        count = len(self._frozen)
        self._during(stretch, self._wake_all)
        return str(count)

    def _start(self, rng: random.Random, stretch: Stretch) -> str:
        group = rng.choice(GROUPS)
        self._workers.append(self._installed.worker(_quiet(group)))
        self._publish(stretch)
        return f"in group {group}"

    def _rivals(self, rng: random.Random, stretch: Stretch) -> str:
        name = f"rivals-{rng.getrandbits(32):x}"
        self._workers += [self._installed.ready(_quiet(f"{name}-{one}")) for one in GROUPS]
        for at in range(*stretch):
            self._publish((at, at + 1))
        return "each in a group of its own"

    def _leave(self, rng: random.Random, stretch: Stretch) -> str:
        self._someone(rng)
        one = self._workers.pop(rng.randrange(len(self._workers)))
        one.terminate()
        self._publish(stretch)
        self._end(one)
        return f"with {one.exitcode}"

    def _lose(self, rng: random.Random, stretch: Stretch) -> str:
        for worker in self._workers:
            worker.kill()
            worker.join()
        self._workers.clear()
        lost = rng.choice(("p0", "p1", "p0/state", "p1/vault"))
        for directory in self._data.glob("worker-*"):
            if not self._frozen:  # theirs are still open
                shutil.rmtree(directory / lost, ignore_errors=True)
        self._someone(rng)
        self._publish(stretch)
        return lost

    def _redeliver(self, rng: random.Random, stretch: Stretch) -> str:
        self._workers.append(
            self._installed.worker(_quiet(rng.choice(GROUPS))._replace(twice=True))
        )
        self._publish(stretch)
        return "every batch"

    def _twice(self, _: random.Random, stretch: Stretch) -> str:
        self._publish(stretch)
        self._publish(stretch)
        return f"events {stretch[0]} to {stretch[1] - 1}"

    def _restart_broker(self, rng: random.Random, stretch: Stretch) -> str:
        away = rng.uniform(0, 3)

        def restart() -> None:
            self._kafka.kill(1)
            time.sleep(away)
            self._kafka.start(1)

        self._during(stretch, restart)
        return f"after {away:.1f} s"

    # What they share

    def _publish(self, stretch: Stretch) -> None:
        self._installed.send_until_acknowledged(self._installed.feed.said[slice(*stretch)])

    def _during(self, stretch: Stretch, act: Callable[[], None]) -> None:
        """Publish while something happens."""
        acting = threading.Thread(target=act)
        acting.start()
        self._publish(stretch)
        acting.join()

    def _someone(self, rng: random.Random) -> None:
        """At least one worker runs; those that died at their points are forgotten."""
        self._workers = [worker for worker in self._workers if worker.is_alive()]
        if not self._workers:
            self._workers.append(self._installed.ready(_quiet(rng.choice(GROUPS))))

    def _wake_all(self) -> None:
        for worker in self._frozen:
            _wake(worker)
        self._workers += self._frozen
        self._frozen.clear()
