"""While nothing can be written nothing is acknowledged; then it goes on without loss (SPEC §3).

A real full file system, a real limit of file sizes, and each of a process's stores failing alone.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from mnemolog import Memory
from mnemolog.data_directory import DataDirectory
from mnemolog.doors import EmbeddedDoor, HttpDoor
from projections.ports import Headers
from schemas.errors import Unavailable
from schemas.master import MasterKey
from schemas.principals import local_api_key
from tests.storage.conftest import SCOPE

T = TypeVar("T")


def until(look: Callable[[], T], done: Callable[[T], bool], seconds: float = 60.0) -> T:
    """Look until it is done; fail with what was last seen."""
    deadline = time.monotonic() + seconds
    while not done(seen := look()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)
    return seen


class Serving:
    """`mnemolog serve` on a directory, reached over HTTP."""

    def __init__(self, data: Path, state: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mnemolog", "--data", str(data), "--json", "serve", "--port=0"],
            env={**os.environ, "XDG_STATE_HOME": str(state)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.door = HttpDoor(self.url, local_api_key(MasterKey.load(data, {}, create=False)))

    def observe(self, name: str, wait: float = 20) -> str:
        """The state of the receipt, or the reason for which there is none."""
        event = {
            "kind": "observation",
            "scope": SCOPE,
            "event_id": name,
            "content": name + "x" * 3000,
        }
        try:
            return self.door.publish_one(event, wait).state
        except Unavailable as error:
            return str(error)

    def episodes(self) -> set[str]:
        """The ids of all that is remembered."""
        found: set[str] = set()
        cursor: dict[str, str] = {}
        while True:
            page = self.door.page("episodes", {**SCOPE, "limit": 200, **cursor})
            found |= {episode.event_id for episode in page.items}
            if page.next_cursor is None:
                return found
            cursor = {"cursor": page.next_cursor}

    def ready(self) -> tuple[int, str]:
        """Whether it is ready, and why not."""
        answer = httpx.get(self.url + "/readyz", timeout=20)
        return answer.status_code, answer.text

    def end(self, number: int) -> tuple[int, Any]:
        """Signal it; exit status and what it said at the end."""
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, json.loads(out) if out.strip() else None


@pytest.fixture
def serve() -> Iterator[Callable[[Path, Path], Serving]]:
    """Starts processes; none outlives the test."""
    started: list[Serving] = []

    def start(data: Path, state: Path) -> Serving:
        started.append(Serving(data, state))
        return started[-1]

    yield start
    for one in started:
        one.door.close()
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


@contextmanager
def small_disk(path: Path, mebibytes: int) -> Iterator[None]:
    """A file system of its own size."""
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(path: Path) -> None:
    """Write until nothing more fits."""
    with path.open("wb", buffering=0) as ballast:
        for size in (1 << 20, 4096):
            try:
                while ballast.write(bytes(size)):
                    pass
            except OSError as error:
                assert "No space" in str(error)  # noqa: PT017 - the disk is to be full


def test_a_full_disk_acknowledges_nothing_and_goes_on_by_itself_once_there_is_room(
    tmp_path: Path, serve: Callable[[Path, Path], Serving]
) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, 24):
        data, state = disk / "data", disk / "state"
        serving = serve(data, state)
        kept = {f"before-{n}" for n in range(5)}
        assert {serving.observe(name) for name in kept} == {"accepted"}
        fill(disk / "ballast")
        refusal = until(lambda: serving.observe("full"), lambda said: "No space" in said)
        assert str(data / "log") in refusal
        assert "free or mend the disk" in refusal
        for n in range(5):
            assert "cannot be written" in serving.observe(f"full-{n}", wait=0)
        status, reason = serving.ready()
        assert status == 503
        assert "No space" in reason
        assert kept <= serving.episodes()
        (disk / "ballast").unlink()
        until(serving.ready, lambda said: said[0] == 200)
        after = {f"after-{n}" for n in range(5)}
        assert {serving.observe(name) for name in after} == {"accepted"}
        serving.end(signal.SIGKILL)
        serving = serve(data, state)
        assert kept | after <= serving.episodes()
        assert serving.door.verify(True).ok
        assert serving.observe("and on") == "accepted"
        assert serving.end(signal.SIGTERM)[0] == 0


def test_a_disk_that_is_full_at_start_is_told_and_loses_nothing(
    tmp_path: Path, serve: Callable[[Path, Path], Serving]
) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, 24):
        data, state = disk / "data", disk / "state"
        serving = serve(data, state)
        assert serving.observe("before") == "accepted"
        fill(disk / "ballast")
        serving.end(signal.SIGKILL)
        said = subprocess.run(
            [sys.executable, "-m", "mnemolog", "--data", str(data), "--json", "verify"],
            env={**os.environ, "XDG_STATE_HOME": str(state)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert said.returncode == 3, said
        assert "Traceback" not in said.stderr
        problem = json.loads(said.stdout)
        assert str(data) in problem["detail"]
        assert "disk" in problem["remedy"] or "space" in problem["remedy"]
        (disk / "ballast").unlink()
        serving = serve(data, state)
        assert serving.episodes() == {"before"}
        assert serving.door.verify(True).ok


def test_files_that_may_not_grow_stop_writing_until_a_restart(
    tmp_path: Path, serve: Callable[[Path, Path], Serving]
) -> None:
    data, state = tmp_path / "data", tmp_path / "state"
    serving = serve(data, state)
    kept = {f"before-{n}" for n in range(5)}
    assert {serving.observe(name) for name in kept} == {"accepted"}
    hard = resource.prlimit(serving.process.pid, resource.RLIMIT_FSIZE)[1]
    largest = max(file.stat().st_size for file in (data / "log").glob("*.log"))
    resource.prlimit(serving.process.pid, resource.RLIMIT_FSIZE, (largest + 10_000, hard))
    refused = False
    for n in range(20):
        said = serving.observe(f"during-{n}", wait=2)
        if said in ("accepted", "received"):
            assert not refused  # nothing is acknowledged any more
            kept.add(f"during-{n}")
        else:
            refused = True
            assert "restart" in said
    assert refused
    resource.prlimit(serving.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    assert serving.ready()[0] == 503
    status, problem = serving.end(signal.SIGTERM)
    assert status == 3
    assert str(data) in problem["detail"]
    serving = serve(data, state)
    until(serving.episodes, lambda found: kept <= found)
    assert serving.door.verify(True).ok
    assert serving.observe("and on") == "accepted"
    assert serving.end(signal.SIGTERM)[0] == 0


class Failing:
    """Something whose writing fails for as long as `failing`."""

    def __init__(self, write: Callable[..., Any]) -> None:
        self.failing = False
        self.refused = 0
        self._write = write

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self.failing:
            self.refused += 1
            raise Unavailable("store /somewhere", "it cannot be written", "free the disk")
        return self._write(*arguments, **options)


def said(n: int) -> list[dict[str, Any]]:
    """An observation, a fact that quotes it; some are retracted, one is superseded."""
    common = {"scope": SCOPE}
    premises = [{"observation": f"o{n}", "quote": f"no {n}"}]
    events: list[dict[str, Any]] = [
        {**common, "kind": "observation", "event_id": f"o{n}", "content": f"no {n}"},
        {
            **common,
            "kind": "assertion",
            "event_id": f"a{n}",
            "fact_id": f"f{n}",
            "entity": "alice" if n in (7, 8) else f"number {n}",
            "attribute": "state",
            "value": f"no {n}",
            "justifications": [{"premises": premises}],
            **({"supersedes": "f7"} if n == 8 else {}),
        },
    ]
    if n % 3 == 0:
        events.append({**common, "kind": "retraction", "event_id": f"r{n}", "fact_id": f"f{n}"})
    return events


@pytest.mark.parametrize("part", ["ledger", "vault", "state", "anchors", "remembered"])
def test_whichever_store_fails_alone_admission_waits_and_then_goes_on_without_loss(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("mnemolog.embedded.RETRY_S", 0.05)
    monkeypatch.setattr("mnemolog.embedded.ANCHOR_S", 0.05)
    DataDirectory(tmp_path / "data", os.environ).init(1)
    door = EmbeddedDoor.open(tmp_path / "data")
    backend = door.backend
    failing = _failing(part, door, monkeypatch)
    with Memory(door) as memory:
        alice = memory.scope(*SCOPE.values())
        assert alice.observe("before", event_id="o0").state == "accepted"
        failing.failing = True
        events = [event for n in range(1, 20) for event in said(n)]
        told = {receipt.state for receipt in memory.publish(events, wait=0.2)}
        assert told <= {"received", "accepted"}
        assert "accepted" not in told or part in ("anchors", "remembered")
        until(lambda: failing.refused, lambda times: times >= 3)
        until(backend.problems, lambda found: any("cannot be written" in one for one in found))
        failing.failing = False
        until(backend.problems, lambda found: found == [])
        entries = 1 + len(events)
        until(lambda: memory.verify().partitions[0].entries, lambda n: n >= entries, 20)
        found = alice.episodes(limit=100).items  # without those bound to a retracted fact
        assert {one.event_id for one in found} == {f"o{n}" for n in range(20) if n % 3 or not n}
        verified = memory.verify(deep=True)
        assert verified.ok
        assert verified.partitions[0].entries == entries
        public = {fact.fact_id for fact in alice.facts(limit=100).items}
        assert public == {f"f{n}" for n in range(1, 20) if n % 3 and n != 7}
        assert alice.observe("after", event_id="o20").state == "accepted"
    with Memory.open(tmp_path / "data") as memory:
        assert memory.verify(deep=True).ok


def _failing(part: str, door: EmbeddedDoor, monkeypatch: pytest.MonkeyPatch) -> Failing:
    backend = door.backend
    target: Any
    if part == "ledger":
        failing = Failing(backend.log.append)
        append = backend.log.append

        def only_ledger(topic: str, partition: int, records: list[tuple[bytes, Headers]]) -> Any:
            go = failing if topic == backend.topics.ledger else append
            return go(topic, partition, records)

        monkeypatch.setattr(backend.log, "append", only_ledger)
        return failing
    target, name = {
        "vault": (backend.vault, "put"),
        "state": (backend._parts[0].follower.store, "write"),
        "anchors": (backend.anchoring.anchors, "write"),
        "remembered": (backend.anchoring.remembered, "write"),
    }[part]
    failing = Failing(getattr(target, name))
    monkeypatch.setattr(target, name, failing)
    return failing
