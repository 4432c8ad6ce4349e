"""`memory`: the embedded runtime and the cluster on a real broker, behind the same Python door."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gateway.application import Application
from mnemolog.cluster import ClusterBackend, Installation, Sweep, create_topics, make_worker
from mnemolog.doors import EmbeddedDoor, now_micros
from mnemolog.memory import Memory, ScopedMemory
from processors.worker import Worker
from schemas.kinds import Role, Tier
from schemas.master import MasterKey
from schemas.registry import Grant, RegistryFile


class Runtime:
    """A running memory, principals of other trust beside `local`, and its moving parts."""

    def __init__(self, memory: Memory, data: Path, door: EmbeddedDoor) -> None:
        self.memory = memory
        self.data = data
        self.door = door
        self.sweep: Callable[[], int] = lambda: 0
        self.stop_admission: Callable[[], None] = lambda: None

    def scope(self, subject: str = "alice", branch: str = "main") -> ScopedMemory:
        """A scope of the one tenant that the tests use."""
        return self.memory.scope("acme", "support", subject, branch)

    def as_principal(self, name: str, tier: Tier, *roles: Role) -> ScopedMemory:
        """The scope of `alice` as another principal."""
        master = MasterKey.load(self.data, os.environ)
        registry = RegistryFile(self.data / "keys.json", master)
        registry.add(name, roles, [Grant("acme", "*", "*")], tier)
        door = _PrincipalDoor(self.door.backend, master, name)
        return Memory(door).scope("acme", "support", "alice")


class _PrincipalDoor(EmbeddedDoor):
    def __init__(self, backend: Any, master: MasterKey, name: str) -> None:
        super().__init__(backend, master)
        self._name = name

    def _local(self) -> Any:
        return self.backend.registry().principal(self._name)


def start_worker(worker: Worker) -> threading.Thread:
    """Run a worker in a thread of this process."""
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    return thread


def _embedded(data: Path, stack: ExitStack) -> Runtime:
    door = EmbeddedDoor.open(data)
    stack.callback(door.close)
    runtime = Runtime(Memory(door), data, door)
    runtime.sweep = door.backend.run_schedule

    def stop() -> None:
        door.backend._stop.set()
        for thread in door.backend._threads:
            thread.join()
        door.backend._stop = threading.Event()

    runtime.stop_admission = stop
    return runtime


def _cluster(data: Path, bootstrap: str, stack: ExitStack) -> Runtime:
    data.mkdir(exist_ok=True)
    master = MasterKey.load(data, os.environ)
    create_topics(bootstrap, 2)
    installation = Installation(bootstrap, data, master)
    worker = make_worker(installation, data / "worker-0")
    thread = start_worker(worker)

    def stop() -> None:
        worker.stop()
        thread.join(30)

    stack.callback(stop)
    backend = ClusterBackend(installation, data / "gateway-0")
    stack.callback(backend.close)
    door: Any = EmbeddedDoor.__new__(EmbeddedDoor)
    door.backend = backend
    door.application = Application(backend, master, now_micros)
    runtime = Runtime(Memory(door), data, door)
    runtime.sweep = Sweep(installation, 2, data / "agents-0")
    runtime.stop_admission = stop
    return runtime


@pytest.fixture(params=["embedded", pytest.param("cluster", marks=pytest.mark.kafka)])
def runtime(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Runtime]:
    """A fresh memory of each runtime; `policy.toml` may be given by a `policy` marker."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    data = tmp_path / "data"
    marker = request.node.get_closest_marker("policy")
    if marker is not None:
        data.mkdir()
        (data / "policy.toml").write_text(marker.args[0])
    with ExitStack() as stack:
        if request.param == "embedded":
            yield _embedded(data, stack)
        else:
            bootstrap = request.getfixturevalue("kafka_bootstrap")
            monkeypatch.setenv("MNEMOLOG_TOPIC_PREFIX", f"t-{uuid.uuid4().hex[:10]}")
            yield _cluster(data, bootstrap, stack)
