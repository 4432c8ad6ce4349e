"""One worker takes over from another that is frozen, leaves, or was given the same records twice.

The group says who tries, the chain says who wins (SPEC §3 "Single writer without trust in timing").
"""

from __future__ import annotations

import itertools

import pytest

from projections.follower import Follower
from schemas.entry import NO_FOLLOW_UP
from schemas.kinds import Decision
from tests.cluster.conftest import PARTITIONS, Cluster, until
from tests.cluster.test_worker import fresh_follower
from tests.crash.cluster_child import Plan
from tests.crash.feed import Feed
from tests.crash.installed import Installed

pytestmark = pytest.mark.kafka


def caught_up(cluster: Cluster) -> list[Follower]:
    """Fresh followers at the ledger's end."""
    followers = [fresh_follower(cluster, number) for number in range(PARTITIONS)]
    for follower in followers:
        follower.catch_up()
    return followers


@pytest.mark.parametrize("point", ["keys.after", "append.after", "commit.after"])
def test_a_worker_frozen_at_any_step_is_beaten_when_it_wakes_after_its_successor(
    point: str, cluster: Cluster
) -> None:
    installed = Installed(cluster, Feed(61, 4, 12))
    half = len(installed.feed.said) // 2
    installed.publish(0, half)
    zombie = installed.stopped(Plan("first", point))
    successor = installed.ready(Plan("second"))
    installed.admitted()
    installed.publish(half)
    installed.admitted()
    installed.resume(zombie)
    installed.publish(0, 10)  # both try to admit the same records
    installed.admitted()
    for process in (zombie, successor):
        installed.end(process)
    for directory in ("worker-0", "worker-1"):
        installed.check(directory)
    if point == "keys.after":  # what it had decided before it froze was appended after the others
        assert sum(follower.checkpoint().ignored for follower in caught_up(cluster)) > 0


def test_a_worker_that_was_frozen_out_of_its_group_gives_up_and_takes_part_again(
    cluster: Cluster,
) -> None:
    """The group's own session ends (10 s); resumed, the first hears of it and joins again."""
    installed = Installed(cluster, Feed(62, 4, 12))
    half = len(installed.feed.said) // 2
    installed.publish(0, half)
    zombie = installed.stopped(Plan("shared", "commit.after"))
    installed.publish(half)
    successor = installed.ready(Plan("shared"))
    installed.admitted()
    installed.resume(zombie)
    installed.publish(0, 10)
    installed.admitted()
    for process in (zombie, successor):
        installed.end(process)
    installed.check("worker-1")


def test_a_worker_that_wakes_behind_intake_that_others_admitted_and_dropped_goes_on(
    cluster: Cluster,
) -> None:
    installed = Installed(cluster, Feed(66, 4, 12))
    dropping = Plan("second", keep_intake=False)
    said = len(installed.feed.said)
    installed.publish(0, 8)
    zombie = installed.stopped(Plan("first", "keys.after", keep_intake=False))
    successor = installed.ready(dropping)
    installed.publish(8)
    until(lambda: (installed.left_in_the_intake(), installed.published()), (0, said).__eq__)
    installed.end(successor)
    installed.resume(zombie)
    installed.publish(0, 8)
    installed.admitted()
    installed.end(zombie)
    assert len(set(places(cluster))) == len(places(cluster)) == said + 8


def test_a_gap_that_opens_under_a_running_worker_stops_it(cluster: Cluster) -> None:
    installed = Installed(cluster, Feed(67, 4, 12))
    installed.publish(0, 8)
    worker = installed.stopped(Plan("one", "keys.after"))
    installed.publish(8)
    for topic in cluster.topics.intake.values():
        for number in range(PARTITIONS):
            cluster.log.truncate(topic, number, cluster.log.end(topic, number))
    installed.resume(worker)
    worker.join(60)
    assert worker.exitcode == 1
    assert "are gone and were never admitted" in installed.failures()[0]


def places(cluster: Cluster) -> list[tuple[int, int, int]]:
    """The intake place of each entry that is no follow-up."""
    headers = [entry.header for number in range(PARTITIONS) for entry in cluster.entries(number)]
    return [(h.partition, h.topic, h.offset) for h in headers if h.follows == NO_FOLLOW_UP]


def test_partitions_move_between_workers_under_load_and_nothing_is_lost(cluster: Cluster) -> None:
    installed = Installed(cluster, Feed(63, 10, 16))
    plan = Plan("shared")
    running = [installed.ready(plan)]

    def between(turn: int) -> None:
        if turn % 4 == 1:
            running.append(installed.ready(plan))  # one that is told to stop sooner has no ears yet
        elif turn % 4 == 3:
            installed.end(running.pop(0))

    installed.publish_in_turns(16, between)
    installed.admitted()
    for process in running:
        installed.end(process)
    installed.check()


def test_records_that_the_consumer_is_given_again_are_admitted_once(cluster: Cluster) -> None:
    installed = Installed(cluster, Feed(64, 4, 12))
    process = installed.ready(Plan("twice", twice=True))
    installed.publish_in_turns(6, lambda turn: None)
    installed.admitted()
    installed.end(process)
    installed.check()


def test_a_producer_that_sends_all_again_for_want_of_an_acknowledgement_doubles_nothing(
    cluster: Cluster,
) -> None:
    """The second copy of each record that holds its idempotency key is marked `duplicate`."""
    installed = Installed(cluster, Feed(65, 4, 12))
    installed.publish()
    installed.publish()
    installed.finish(Plan("once"))
    installed.check()
    entries = itertools.chain(*(cluster.entries(number) for number in range(PARTITIONS)))
    decisions = [entry.header.decision for entry in entries]
    assert decisions.count(Decision.DUPLICATE) > len(installed.feed.said) // 2
