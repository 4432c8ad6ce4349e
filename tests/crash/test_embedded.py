"""The embedded process killed at every step of its work: the ledger ends the same, byte for byte.

Each case is a process that kills itself (SIGKILL) at the n-th passing of a point; another takes the
directory over, publishes the rest, and says what stands there. Clock and keys are seeded, so
ledger, rows and record keys are compared as bytes with those of a run that was left alone.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemolog.data_directory import DataDirectory
from mnemolog.embedded import Embedded
from schemas.master import MasterKey
from tests.crash.embedded_child import (
    DROPS,
    OPENINGS,
    POINTS,
    READS,
    REBUILDS,
    Plan,
    main,
)
from tests.crash.fuse import cut_newest_log

FEED = (41, 4, 12)
UNDISTURBED = Plan(FEED, "", 1, rebuild=True, keep_intake=True, again=0)


class Directory:
    """A copy of the one empty installation, so that identities and the master key are the same."""

    def __init__(self, path: Path, template: Path | None) -> None:
        self.data = path / "data"
        self.state_home = path / "home"
        if template is None:
            DataDirectory(self.data, {}).init(1)
        else:
            shutil.copytree(template, path)

    def run(self, plan: Plan) -> int:
        """One process on it; its exit status."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.crash.embedded_child"])
        process = context.Process(target=main, args=(self.data, self.state_home, plan))
        process.start()
        process.join(60)
        assert process.exitcode is not None, f"{plan} hangs"
        return process.exitcode

    def killed(self, plan: Plan) -> None:
        """A process that must die by its own hand."""
        assert self.run(plan) == -signal.SIGKILL, f"{plan.point} was not passed {plan.n} times"

    def report(self) -> dict[str, Any]:
        """What the last whole run found."""
        found: dict[str, Any] = json.loads((self.data.parent / "report.json").read_text())
        return found


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation of one partition in which nothing was said."""
    path = tmp_path_factory.mktemp("template")
    env = {"XDG_STATE_HOME": str(path / "home")}
    directory = DataDirectory(path / "data", env)
    directory.init(1)
    Embedded(directory, MasterKey.load(path / "data", env), start=False).close()
    return path


@pytest.fixture(scope="module")
def undisturbed(template: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of a run that nobody killed, checked against the reference model."""
    directory = Directory(tmp_path_factory.mktemp("undisturbed") / "run", template)
    assert directory.run(UNDISTURBED) == 0
    right(directory.report())
    return directory.report()


@pytest.fixture
def fresh(template: Path, tmp_path: Path) -> Iterator[Callable[[], Directory]]:
    """A new copy of the installation at each call."""
    made: list[Path] = []

    def make() -> Directory:
        made.append(tmp_path / str(len(made)))
        return Directory(made[-1], template)

    yield make
    for path in made:
        shutil.rmtree(path)


def right(report: dict[str, Any]) -> None:
    """Nothing lost, nothing doubled, the model's answers, `verify --deep` clean, nothing left."""
    assert report["verification"] == [True, []]
    assert report["answers"] == report["unanswered"] == report["untold"] == []
    assert report["generations"] == 1


def same(report: dict[str, Any], undisturbed: dict[str, Any]) -> None:
    """All that, and the same bytes, before the rebuilds and after."""
    right(report)
    for name in ("ledger", "rows before", "keys before", "rows", "keys"):
        assert report[name] == undisturbed[name], name


def passings(count: int) -> list[int]:
    """The first, and one among many."""
    return sorted({1, (2 * count + 2) // 3})


@pytest.mark.parametrize("point", [*POINTS, *READS, *REBUILDS])
def test_a_process_killed_at_any_step_leaves_what_an_undisturbed_one_leaves(
    point: str, fresh: Callable[[], Directory], undisturbed: dict[str, Any]
) -> None:
    for n in passings(undisturbed["passed"][point]):
        directory = fresh()
        directory.killed(UNDISTURBED._replace(point=point, n=n))
        assert directory.run(UNDISTURBED) == 0
        same(directory.report(), undisturbed)


def test_admitted_intake_is_dropped_once_whenever_the_process_dies(
    fresh: Callable[[], Directory], undisturbed: dict[str, Any]
) -> None:
    dropping = UNDISTURBED._replace(keep_intake=False)
    whole = fresh()
    assert whole.run(dropping) == 0
    same(whole.report(), undisturbed)
    assert whole.report()["intake"] == 0
    for point in DROPS:
        for n in passings(whole.report()["passed"][point]):
            directory = fresh()
            directory.killed(dropping._replace(point=point, n=n))
            assert directory.run(dropping) == 0
            same(directory.report(), undisturbed)
            assert directory.report()["intake"] == 0


@pytest.mark.parametrize("part", ["log", "vault", "state/0/p0"])
@pytest.mark.parametrize("by", [1, 40])
def test_a_write_that_was_cut_short_by_the_kill_was_never_made(
    part: str, by: int, fresh: Callable[[], Directory], undisturbed: dict[str, Any]
) -> None:
    """The last write of a store is torn: the log's and the vault's before anyone was told of it."""
    point = {"log": "append.after", "vault": "keys.after"}.get(part, "commit.after")
    for n in passings(undisturbed["passed"][point]):
        directory = fresh()
        directory.killed(UNDISTURBED._replace(point=point, n=n))
        cut_newest_log(directory.data / part, by)
        assert directory.run(UNDISTURBED) == 0
        same(directory.report(), undisturbed)


def test_a_process_killed_again_and_again_gets_there(
    fresh: Callable[[], Directory], undisturbed: dict[str, Any]
) -> None:
    """Each process gets as far as its third ledger append, its second commit, its first erasure."""
    directory = fresh()
    deaths = 0
    for point, n in (("append.after", 3), ("commit.before", 2), ("erase.before", 1)) * 20:
        if directory.run(UNDISTURBED._replace(point=point, n=n)) == 0:
            break
        deaths += 1
    assert deaths >= 5
    same(directory.report(), undisturbed)


def test_what_is_published_again_for_want_of_an_acknowledgement_counts_once(
    fresh: Callable[[], Directory], undisturbed: dict[str, Any]
) -> None:
    """The producer cannot know that its event is in the log, so it stands there twice."""
    for n in passings(undisturbed["passed"]["publish.after"]):
        directory = fresh()
        directory.killed(UNDISTURBED._replace(point="publish.after", n=n))
        assert directory.run(UNDISTURBED._replace(again=1)) == 0
        right(directory.report())
        assert directory.report()["intake"] == undisturbed["intake"] + 1


def test_a_process_killed_while_it_opens_for_the_first_time_opens_the_next_time(
    tmp_path: Path,
) -> None:
    for point in OPENINGS:
        directory = Directory(tmp_path / point, None)
        directory.killed(UNDISTURBED._replace(point=point))
        assert directory.run(UNDISTURBED) == 0
        right(directory.report())
