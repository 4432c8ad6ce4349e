"""Workers killed at every step of their work, on a real broker and real RocksDB.

Each case has topics of its own; a worker process kills itself (SIGKILL) at a point, another takes
over, and what then stands in the ledger is compared with the recorded intake and with the reference
model's answers to it. Append times are the broker's, so bytes differ from run to run.
"""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import threading
from multiprocessing.context import ForkServerProcess

import pytest

from processors.verify import verify_partitions
from schemas.principals import GATEWAY
from tests.cluster.conftest import PARTITIONS, Cluster, until
from tests.crash.cluster_child import POINTS, Plan, main
from tests.crash.feed import Feed, unanswered

pytestmark = pytest.mark.kafka
SECONDS = 30
WHOLE = Plan("", 1, "second", keep_intake=True)


class Installed:
    """One installation's feed, its workers, and what is right in the end."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.feed = Feed(seed, 4, 12)
        self._publisher = cluster.installation.publisher(GATEWAY, PARTITIONS)

    def publish(self, start: int, end: int | None = None) -> None:
        """A part of the feed, acknowledged."""
        self._publisher.publish([(said.kind, said.event) for said in self.feed.said[start:end]])

    def worker(self, plan: Plan) -> ForkServerProcess:
        """A worker process."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.crash.cluster_child"])
        where = (self.cluster.bootstrap, self.cluster.data, self.cluster.topics.prefix)
        process = context.Process(target=main, args=(*where, plan), daemon=True)
        process.start()
        return process

    def killed(self, plan: Plan) -> None:
        """A worker that must die by its own hand."""
        process = self.worker(plan)
        process.join(SECONDS)
        assert process.exitcode == -signal.SIGKILL, f"{plan} was not passed: {process.exitcode}"

    def finish(self, plan: Plan = WHOLE) -> None:
        """A worker that admits all there is, and is told to stop."""
        process = self.worker(plan)
        until((self.cluster.data / f"{plan.group}.ready").exists, bool)
        self.cluster.await_entries(len(self.feed.said))
        if not plan.keep_intake:
            until(self.left_in_the_intake, lambda left: left == 0)
        assert process.pid is not None
        process.terminate()
        process.join(SECONDS)
        assert process.exitcode == 0

    def left_in_the_intake(self) -> int:
        """How many records the intake topics hold."""
        topics = self.cluster.topics.intake.values()
        places = [(topic, number) for topic in topics for number in range(PARTITIONS)]
        starts, ends = (
            self.cluster.installation.kafka.offsets(places, latest=latest)
            for latest in (False, True)
        )
        return sum(ends) - sum(starts)

    def check(self) -> None:
        """Nothing lost, nothing doubled, the model's answers, and `verify --deep` is clean."""
        cluster, installation = self.cluster, self.cluster.installation
        said = {cluster.topics.intake[said.kind] for said in self.feed.said}
        intake = [
            record
            for topic in said
            for number in range(PARTITIONS)
            for record in cluster.records(topic, number)
        ]
        followers = [
            installation.follower(
                number,
                PARTITIONS,
                cluster.data / "worker-0",
                lock=threading.RLock(),
                writer=False,
            )
            for number in range(PARTITIONS)
        ]
        try:
            for number, follower in enumerate(followers):
                assert follower.catch_up().entries == 0, "the worker's own store has all of it"
                places = [
                    (cluster.topics.kind_of[record.topic], record.offset)
                    for record in intake
                    if record.partition == number
                ]
                assert unanswered(cluster.entries(number), places) == []
            anchoring = installation.anchoring(PARTITIONS, cluster.data / "worker-0")
            found = verify_partitions(followers, anchoring.anchors, deep=True)
            anchoring.close()
            assert found.ok, found.damage
            assert self.feed.differences(intake, cluster.topics, followers) == []
        finally:
            for follower in followers:
                follower.store.close()
                follower.vault.close()
                follower.log.close()


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_at_any_step_is_succeeded_without_loss(
    point: str, cluster: Cluster
) -> None:
    installed = Installed(cluster, seed=51)
    half = len(installed.feed.said) // 2
    installed.publish(0, half)
    installed.killed(Plan(point, 1, "first", keep_intake=True))
    installed.publish(half)
    installed.finish()
    installed.check()


def test_admitted_intake_is_dropped_by_the_successor_too(cluster: Cluster) -> None:
    installed = Installed(cluster, seed=52)
    installed.publish(0)
    installed.killed(Plan("drop.after", 1, "first", keep_intake=False))
    installed.finish(WHOLE._replace(keep_intake=False))


def test_a_rebuild_that_is_killed_begins_again_from_the_ledger(cluster: Cluster) -> None:
    installed = Installed(cluster, seed=53)
    installed.publish(0)
    installed.finish(WHOLE._replace(group="first"))
    for point, n in (("commit.before", 1), ("commit.after", 2)):
        for lost in ("p0", "p1/state"):
            shutil.rmtree(cluster.data / "worker-0" / lost)
        installed.killed(Plan(point, n, point, keep_intake=True))
        (cluster.data / "worker-0" / "p1" / "state").mkdir(parents=True, exist_ok=True)
    installed.finish()
    installed.check()
