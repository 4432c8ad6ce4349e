"""One installation on a broker under test: its feed, its worker processes, and what is right."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from processors.verify import verify_partitions
from projections.follower import Follower
from schemas.entry import NO_FOLLOW_UP
from schemas.errors import Unavailable
from schemas.principals import GATEWAY
from tests.cluster.conftest import PARTITIONS, Cluster, until
from tests.crash.aside import dropped, placed
from tests.crash.cluster_child import Plan, main
from tests.crash.feed import Feed, Said, unanswered

SECONDS = 60
EACH = 8


class Installed:
    """A cluster that is told a feed by the gateway, and admitted to by processes of the tests."""

    def __init__(self, cluster: Cluster, feed: Feed) -> None:
        self.cluster = cluster
        self.feed = feed
        self.sent = 0
        self._publisher = cluster.installation.publisher(GATEWAY, PARTITIONS)

    # Publishing

    def publish(self, start: int = 0, end: int | None = None) -> None:
        """A part of the feed, acknowledged."""
        self._send(self.feed.said[start:end])

    def publish_in_turns(self, each: int, between: Callable[[int], None]) -> None:
        """All of the feed, `each` events at a time; what is not acknowledged is sent again."""
        for turn, at in enumerate(range(0, len(self.feed.said), each)):
            between(turn)
            self.send_until_acknowledged(self.feed.said[at : at + each])

    def publish_during(self, act: Callable[[], None]) -> None:
        """The feed while something happens in another thread, over again until it has happened."""
        acting = threading.Thread(target=act)
        for at in itertools.cycle(range(0, len(self.feed.said), EACH)):
            self.send_until_acknowledged(self.feed.said[at : at + EACH])
            if at == 2 * EACH and acting.ident is None:
                acting.start()
            if acting.ident is not None and self._all_sent():
                acting.join(0.05)
                if not acting.is_alive():
                    return

    def _all_sent(self) -> bool:
        return self.sent >= len(self.feed.said)

    def send_until_acknowledged(self, said: list[Said]) -> None:
        """Publish, and publish again what the broker did not acknowledge."""
        while True:
            try:
                self._send(said)
                return
            except Unavailable:
                continue  # its remedy: publish again

    def _send(self, said: list[Said]) -> None:
        self._publisher.publish([(one.kind, one.event) for one in said])
        self.sent += len(said)

    # Workers

    def worker(self, plan: Plan) -> ForkServerProcess:
        """A worker process."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.crash.cluster_child"])
        where = (self.cluster.bootstrap, self.cluster.data, self.cluster.topics.prefix)
        process = context.Process(target=main, args=(*where, plan), daemon=True)
        process.start()
        return process

    def ready(self, plan: Plan) -> ForkServerProcess:
        """A worker process that holds partitions."""
        process = self.worker(plan)
        told = self.cluster.data / f"{plan.group}-{process.pid}.ready"
        until(lambda: told.exists() or not process.is_alive(), bool, SECONDS)
        assert process.is_alive(), f"{plan} ended with {process.exitcode}"
        return process

    def killed(self, plan: Plan) -> None:
        """A worker that must die by its own hand."""
        process = self.worker(plan)
        process.join(SECONDS)
        assert process.exitcode == -signal.SIGKILL, f"{plan} was not passed: {process.exitcode}"

    def stopped(self, plan: Plan) -> ForkServerProcess:
        """A worker that must stop by its own hand (SIGSTOP) and is left so."""
        process = self.worker(plan._replace(sent=signal.SIGSTOP))
        status = Path(f"/proc/{process.pid}/stat")
        until(lambda: status.read_text().rsplit(")", 1)[1].split()[0], "T".__eq__, SECONDS)
        return process

    @staticmethod
    def resume(process: ForkServerProcess) -> None:
        """Let a stopped worker go on."""
        assert process.pid is not None
        os.kill(process.pid, signal.SIGCONT)

    def end(self, process: ForkServerProcess) -> None:
        """Tell a worker to finish and stop."""
        process.terminate()
        process.join(SECONDS)
        assert process.exitcode == 0, f"it ended with {process.exitcode}: {self.where(process)}"

    def where(self, process: ForkServerProcess) -> str:
        """Where a worker stands that does not end."""
        if process.exitcode is not None:
            return "\n".join(self.failures())
        assert process.pid is not None
        os.kill(process.pid, signal.SIGUSR1)
        (path,) = self.cluster.data.glob(f"*-{process.pid}.stack")
        return until(path.read_text, bool)

    def finish(self, plan: Plan) -> None:
        """A worker that admits all there is, and is told to stop."""
        process = self.ready(plan)
        self.admitted()
        if not plan.keep_intake:
            until(self.left_in_the_intake, lambda left: left == 0)
        self.end(process)

    # What is right

    def admitted(self) -> None:
        """Wait until every intake record has its entry; fail if a worker ended with an error."""
        wanted = self.published()

        def look() -> int:
            assert self.failures() == [], self.failures()[0]
            entries = (e for number in range(PARTITIONS) for e in self.cluster.entries(number))
            return sum(entry.header.follows == NO_FOLLOW_UP for entry in entries)

        until(look, lambda found: found >= wanted, SECONDS)

    def failures(self) -> list[str]:
        """The errors with which workers ended."""
        return [path.read_text() for path in self.cluster.data.glob("*.failed")]

    def published(self) -> int:
        """How many records the intake was given."""
        return sum(self._intake_offsets(latest=True))

    def left_in_the_intake(self) -> int:
        """How many records the intake topics hold."""
        return self.published() - sum(self._intake_offsets(latest=False))

    def _intake_offsets(self, *, latest: bool) -> list[int]:
        topics = self.cluster.topics.intake.values()
        places = [(topic, number) for topic in topics for number in range(PARTITIONS)]
        return self.cluster.installation.kafka.offsets(places, latest=latest)

    def check(self, directory: str = "worker-0") -> None:
        """Nothing is wrong with the ledger, nor with a stopped worker's view of it."""
        assert self.wrong(directory) == []

    def wrong(self, directory: str = "worker-0") -> list[str]:
        """What was lost or doubled, what `verify --deep` finds, and what the model says otherwise.

        `directory`: of a worker that has stopped, and that had caught up.
        """
        cluster, path = self.cluster, self.cluster.data / directory
        said = {cluster.topics.intake[one.kind] for one in self.feed.said}
        found_at = dropped(cluster.data.glob("*.dropped"))
        for topic in sorted(said):
            for number in range(PARTITIONS):
                found_at |= placed(cluster.records(topic, number))
        intake = list(found_at.values())
        with ExitStack() as stack:
            anchoring = cluster.installation.anchoring(PARTITIONS, path)
            stack.callback(anchoring.close)
            followers = [self._follower(number, path, stack) for number in range(PARTITIONS)]
            found = []
            for number, follower in enumerate(followers):
                follower.catch_up()
                given = [
                    (cluster.topics.kind_of[record.topic], record.offset)
                    for record in intake
                    if record.partition == number
                ]
                found += unanswered(cluster.entries(number), given)
            verified = verify_partitions(followers, anchoring.anchors, deep=True)
            found += [f"verify: {damage}" for damage in verified.damage]
            return found + self.feed.differences(intake, cluster.topics, followers)

    def _follower(self, number: int, path: Path, stack: ExitStack) -> Follower:
        follower = self.cluster.installation.follower(
            number, PARTITIONS, path, lock=threading.RLock(), writer=False
        )
        for part in (follower.log, follower.vault, follower.store):
            stack.callback(part.close)
        return follower
