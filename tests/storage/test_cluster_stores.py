"""A cluster process's own stores: lost, damaged, full, or not writable (ARCHITECTURE "Stores").

They are copies: the ledger and the keys topic have everything. So what is lost is rebuilt, said
aloud; what is damaged stops the process until its path is removed, as it says.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mnemolog.cluster.installation import instance_directory
from schemas.errors import Unavailable
from tests.cluster.conftest import Cluster, cluster
from tests.storage.conftest import Said
from tests.storage.test_damaged_stores import bend_table, cut_manifest, drop_write_ahead_log
from tests.storage.test_topics import ALICE, Operator, observed, operator, remembered, told

__all__ = ["cluster", "operator"]
pytestmark = pytest.mark.kafka
NAMES = [f"o{n}" for n in range(20)]


def remove_as_told(said: Said, inside: Path) -> None:
    """Do what a refusal says to type: remove one directory, below where the test's data is."""
    found = re.match(r"type: rm -r (\S+);", said.document["remedy"])
    assert found is not None, said
    doomed = Path(found[1])
    assert doomed.is_relative_to(inside)
    shutil.rmtree(doomed)


@pytest.mark.parametrize("store", ["state", "vault"])
def test_a_lost_store_is_rebuilt_from_the_topics_and_it_is_said(
    cluster: Cluster, store: str
) -> None:
    told(cluster, *NAMES)
    assert remembered(cluster) == sorted(NAMES)
    for role in ("worker-0", "gateway-0"):
        shutil.rmtree(cluster.data / role / f"p{ALICE}" / store)
    with capture_logs() as lines:
        assert remembered(cluster) == sorted(NAMES)
        told(cluster, "more")
    gone = [line["store"] for line in lines if line["event"].startswith("a store is gone")]
    assert gone == [
        str(cluster.data / role / f"p{ALICE}" / store) for role in ("gateway-0", "worker-0")
    ]
    if store == "state":
        assert {"folded the ledger from its beginning"} <= {line["event"] for line in lines}
    assert remembered(cluster) == sorted([*NAMES, "more"])


@pytest.mark.parametrize(
    ("damage", "of_gateway", "of_worker"),
    [
        (cut_manifest, "state", "vault"),
        (drop_write_ahead_log, "vault", "state"),
        (bend_table, "state", "state"),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_a_damaged_store_stops_its_process_until_it_is_removed_as_told(
    cluster: Cluster,
    operator: Operator,
    damage: Callable[[Path], None],
    of_gateway: str,
    of_worker: str,
) -> None:
    told(cluster, *NAMES)
    assert remembered(cluster) == sorted(NAMES)
    for verb, role, store in (
        (("gateway", "--port", "0"), "gateway-0", of_gateway),
        (("worker",), "worker-0", of_worker),
    ):
        path = cluster.data / role / f"p{ALICE}" / store
        damage(path)
        said = operator.refused(*verb)
        assert str(path) in said.document["detail"]
        remove_as_told(said, cluster.data)
    told(cluster, "after")
    assert remembered(cluster) == sorted([*NAMES, "after"])


def test_a_worker_whose_files_may_not_grow_stops_by_name_and_a_restart_loses_nothing(
    cluster: Cluster,
) -> None:
    process = cluster.process("worker")
    cluster.publish(*observed("o"))
    cluster.await_entries(1)
    hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)[1]
    logs = (cluster.data / "worker-0" / f"p{ALICE}").glob("*/*.log")
    largest = max(file.stat().st_size for file in logs)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest + 20_000, hard))
    names = [f"n{n:03}" for n in range(100)]
    cluster.publish(*[{**event, "content": "x" * 2000} for event in observed(*names)])
    out, beside = process.communicate(timeout=60)
    assert process.returncode == 3, (out, beside)
    problem = json.loads(out)
    assert str(cluster.data / "worker-0") in problem["detail"]
    assert "cannot be written" in problem["detail"]
    assert "Traceback" not in beside
    cluster.process("worker")
    cluster.await_entries(1 + len(names))
    cluster.stop()
    assert remembered(cluster) == sorted(["o", *names])


def test_an_instance_directory_has_one_process_and_the_next_gets_another(tmp_path: Path) -> None:
    with instance_directory(tmp_path, "worker") as one:
        assert (one / "lock").read_text() == str(os.getpid())
        with instance_directory(tmp_path, "worker") as two:
            assert (one.name, two.name) == ("worker-0", "worker-1")
    with instance_directory(tmp_path, "worker") as again:
        assert again == one


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(Unavailable, match=r"cannot make .*worker-0") as refusal,
        instance_directory(tmp_path / "file", "worker"),
    ):
        pytest.fail("it was made")
    assert str(tmp_path / "file") in refusal.value.remedy
