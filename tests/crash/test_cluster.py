"""Workers killed at every step of their work, on a real broker and real RocksDB.

Each case has topics of its own; a worker process kills itself (SIGKILL) at a point, another takes
over, and what then stands in the ledger is compared with the recorded intake and with the reference
model's answers to it. Append times are the broker's, so bytes differ from run to run.
"""

from __future__ import annotations

import shutil

import pytest

from tests.cluster.conftest import Cluster
from tests.crash.cluster_child import POINTS, Plan
from tests.crash.feed import Feed
from tests.crash.installed import Installed

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("points", [POINTS[:3], POINTS[3:6], POINTS[6:]], ids="+".join)
def test_workers_killed_one_after_another_at_any_step_are_succeeded_without_loss(
    points: tuple[str, ...], cluster: Cluster
) -> None:
    installed = Installed(cluster, Feed(51, 6, 12))
    each = len(installed.feed.said) // len(points)
    for turn, point in enumerate(points):
        installed.publish(turn * each, (turn + 1) * each)
        installed.killed(Plan(point, point))
    installed.finish(Plan("last"))
    installed.check()


def test_admitted_intake_is_dropped_by_the_successor_too(cluster: Cluster) -> None:
    installed = Installed(cluster, Feed(52, 4, 12))
    installed.publish()
    installed.killed(Plan("first", "drop.after", keep_intake=False))
    installed.finish(Plan("second", keep_intake=False))
    installed.check()


def test_a_rebuild_that_is_killed_begins_again_from_the_ledger(cluster: Cluster) -> None:
    installed = Installed(cluster, Feed(53, 4, 12))
    installed.publish()
    installed.finish(Plan("first"))
    for point, n in (("commit.before", 1), ("commit.after", 2)):
        for lost in ("p0", "p1/state"):
            shutil.rmtree(cluster.data / "worker-0" / lost)
        installed.killed(Plan(point, point, n))
        (cluster.data / "worker-0" / "p1" / "state").mkdir(parents=True, exist_ok=True)
    installed.finish(Plan("last"))
    installed.check()
