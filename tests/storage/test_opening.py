"""What stands in the way of opening a directory is named, and nothing is made afresh in silence.

Another process, missing rights, newer software, and what was lost: by path and with what to type.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from mnemolog import Memory
from mnemolog.data_directory import FORMAT
from mnemolog.folding import catch_up
from projections.rocks import LAYOUT, PROJECTION_LAYOUT
from schemas.errors import StoreLocked
from tests.storage.conftest import EPISODES, House, Said

ENTRIES = EPISODES + 5
STATE = "state/0/p0"


def refused(house: House, expected: list[Any]) -> Said:
    """Every question is refused in the same words; those."""
    said = house.never_lies(expected)
    assert len(said) == len(expected)
    assert len({one.text for one in said}) == 1
    return said[0]


# Two processes


def test_a_second_process_is_refused_with_the_holder_and_what_to_do(
    house: House, expected: list[Any]
) -> None:
    with Memory.open(house.data):
        said = refused(house, expected)
        assert f"process {os.getpid()} uses {house.data}" in said.document["detail"]
        assert "stop it" in said.document["remedy"]
        with pytest.raises(StoreLocked):
            Memory.open(house.data)
        (found,) = [f for f in house.run("doctor").document["findings"] if not f["ok"]]
        assert (found["what"], str(os.getpid()) in found["detail"]) == ("use", True)
    house.goes_on(expected)


def test_the_lock_of_a_process_that_was_killed_holds_nobody_up(
    house: House, expected: list[Any]
) -> None:
    code = (
        "import os, signal, sys; from mnemolog import Memory\n"
        "memory = Memory.open(sys.argv[1]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(house.data)], check=False)
    assert done.returncode == -9
    house.goes_on(expected)


def test_a_store_inside_is_held_by_one_process_too(house: House, expected: list[Any]) -> None:
    from projections.kv_rocks import RocksStore

    store = RocksStore(house.data / "log")
    said = refused(house, expected)
    assert str(house.data / "log") in said.document["detail"]
    assert said.document["code"] == "store_locked"
    store.close()
    house.goes_on(expected)


# Rights


@contextmanager
def not_writable(path: Path) -> Iterator[None]:
    """Nothing at or under a path can be written, made or removed."""
    every = [path, *path.rglob("*")]
    modes = [(one, one.stat().st_mode) for one in every]
    for one, mode in modes:
        one.chmod(mode & 0o555)
    try:
        yield
    finally:
        for one, mode in modes:
            one.chmod(mode)


def run_without_privilege(house: House, *words: str) -> Said:
    """The command line as a process for which rights count, also where root runs the tests."""
    as_anyone = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    done = subprocess.run(
        [
            *(as_anyone if os.geteuid() == 0 else []),
            *(sys.executable, "-m", "mnemolog", "--data", str(house.data), "--json", *words),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return Said(done.returncode, json.loads(done.stdout or "null"), done.stderr)


@pytest.mark.parametrize("part", ["", "log", "vault", "state"])
def test_a_directory_that_cannot_be_written_is_named_with_its_path(
    house: House, expected: list[Any], part: str
) -> None:
    with not_writable(house.data / part):
        said = run_without_privilege(house, "episodes")
    assert said.status == 3, said
    assert "Traceback" not in said.beside
    assert str(house.data / part) in said.document["detail"]
    assert "writable" in said.document["remedy"] or "rights" in said.document["remedy"]
    house.goes_on(expected)


def test_anchors_that_cannot_be_written_stop_nothing_else_but_are_told(
    house: House, expected: list[Any]
) -> None:
    anchors = house.data.parent / "state"
    with not_writable(anchors):
        said = run_without_privilege(house, "observe", "hello")
    assert said.status == 3, said
    assert "Traceback" not in said.beside
    assert str(anchors) in said.document["detail"]
    house.restore()
    house.goes_on(expected)


# Newer software


@pytest.mark.parametrize("more", [{}, {"unheard": "of"}])
def test_a_directory_of_newer_software_is_left_alone(
    house: House, expected: list[Any], more: dict[str, str]
) -> None:
    manifest = house.data / "mnemolog.json"
    newer = {**json.loads(manifest.read_text()), "format": FORMAT + 1, **more}
    manifest.write_text(json.dumps(newer))
    said = refused(house, expected)
    assert f"{house.data} has format {FORMAT + 1}, newer" in said.document["detail"]
    assert "use the version that wrote it" in said.document["remedy"]
    assert house.run("replay").status == house.run("verify").status == 3
    assert house.run("doctor").status == 1
    house.restore("mnemolog.json")
    house.goes_on(expected)


@pytest.mark.parametrize(
    ("store", "layout"), [("log", LAYOUT), ("vault", LAYOUT), (STATE, PROJECTION_LAYOUT)]
)
def test_a_store_of_newer_software_is_left_alone(
    house: House, expected: list[Any], store: str, layout: int
) -> None:
    marker = house.data / store / "mnemolog-store"
    marker.write_text(f"{layout + 1}\n")
    said = refused(house, expected)
    assert f"{house.data / store}: its layout {layout + 1} is newer" in said.document["detail"]
    assert "use the version that wrote it" in said.document["remedy"]
    if store == STATE:
        assert house.type_remedy(said).status == 0
    else:
        house.restore(store)
    house.goes_on(expected)


def test_projections_of_older_software_are_rebuilt_and_not_misread(
    house: House, expected: list[Any]
) -> None:
    (house.data / STATE / "mnemolog-store").write_text(f"{PROJECTION_LAYOUT - 1}\n")
    said = refused(house, expected)
    assert "older" in said.document["detail"]
    assert house.type_remedy(said).status == 0
    house.goes_on(expected)


# What was lost


def drop(*names: str) -> Callable[[House], None]:
    """Remove parts of the directory."""

    def dropping(house: House) -> None:
        for name in names:
            path = house.data / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return dropping


def point_nowhere(house: House) -> None:
    (house.data / "state" / "CURRENT").write_text('{"generation": "7"}')


@pytest.mark.parametrize(
    "lose",
    [drop("state"), drop(STATE), drop("state/CURRENT", "state/0"), point_nowhere],
    ids=["all", "one", "the generation", "not the one it names"],
)
def test_lost_projections_are_rebuilt_from_the_ledger_before_anything_is_answered_and_it_is_said(
    house: House, expected: list[Any], lose: Callable[[House], None]
) -> None:
    lose(house)
    assert house.run("doctor").status == 0
    assert "the next start rebuilds it" in house.run("doctor").text
    said = house.run("episodes", "--limit", "1000")
    assert said.status == 0
    assert "a store is gone: it is rebuilt from the ledger" in said.beside
    assert '"folded the ledger from its beginning"' in said.beside.replace('\\"', '"')
    assert f'"entries": {ENTRIES}' in said.beside
    house.goes_on(expected)


def test_a_long_rebuild_tells_how_far_it_is(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from projections.follower import Follower
    from projections.kv_memory import MemoryStore

    monkeypatch.setattr("mnemolog.folding.STEP", 100)
    with Memory.open(house.data) as memory:
        live = memory.door.backend._parts[0].follower  # type: ignore[attr-defined]
        fresh = Follower(0, live.log, live.ledger, MemoryStore(), live.vault, live.hasher)
        with capture_logs() as told:
            catch_up(fresh, tell_s=0)
        assert fresh.checkpoint() == live.checkpoint()
    assert [line.get("folded") for line in told] == [None, 100, 200, 300, ENTRIES, None]
    assert {line["records"] for line in told[:-1]} == {ENTRIES}


def test_projections_whose_name_cannot_be_read_are_rebuilt_by_what_it_says_to_type(
    house: House, expected: list[Any]
) -> None:
    for garbage in ("", "garbage", '{"generation": "../../log"}', '{"generation": 3}'):
        (house.data / "state" / "CURRENT").write_text(garbage)
        said = refused(house, expected)
        assert str(house.data / "state" / "CURRENT") in said.document["detail"]
    assert house.type_remedy(said).status == 0
    house.goes_on(expected)


@pytest.mark.parametrize("lost", ["log", "vault", "mnemolog.json", "master.key"])
def test_what_cannot_be_rebuilt_is_asked_for_and_never_made_afresh(
    house: House, expected: list[Any], lost: str
) -> None:
    harmless = [] if lost == "master.key" else ["keys"]
    harmless += ["init"] if lost in ("log", "vault") else []
    drop(lost)(house)
    said = refused(house, expected)
    assert str(house.data / lost) in said.document["detail"]
    assert "restore it from a backup" in said.document["remedy"]
    for verb in (("verify",), ("replay",), ("init",), ("observe", "anew"), ("keys", "list")):
        again = house.run(*verb)
        if verb[0] not in harmless:
            assert again.status in (2, 3), again
    assert not (house.data / lost).exists()
    assert house.run("doctor").status == 1
    house.restore(lost)
    house.goes_on(expected)


def test_losing_log_and_store_and_the_mark_that_they_were_there_still_shows_in_the_anchor(
    house: House, expected: list[Any]
) -> None:
    drop("log", "vault", "state", "opened")(house)
    for said in house.never_lies(expected):
        assert f"the anchor saw {ENTRIES}" in said.document["detail"]
    assert house.run("verify").status == 1
    house.restore()
    house.goes_on(expected)


def test_a_ledger_put_in_the_place_of_another_is_not_folded_on(
    house: House, expected: list[Any], tmp_path: Path
) -> None:
    shutil.copy(house.data / "master.key", tmp_path)
    other = House(tmp_path / "other", house._capture)
    other.data.mkdir(parents=True)
    shutil.copy(house.data / "master.key", other.data)
    assert other.run("observe", "elsewhere").status == 0
    shutil.rmtree(house.data / "log")
    shutil.copytree(other.data / "log", house.data / "log")
    for said in house.never_lies(expected):
        assert "another ledger" in said.document["detail"]
    house.restore("log")
    house.goes_on(expected)


def test_a_path_with_spaces_is_said_so_that_it_can_be_typed(
    house: House, expected: list[Any]
) -> None:
    moved = house.data.rename(house.data.with_name("a data directory"))
    house.data = moved
    (moved / "state" / "CURRENT").write_text("garbage")
    said = refused(house, expected)
    assert shlex.quote(str(moved)) in said.document["remedy"]
    assert house.type_remedy(said).status == 0
