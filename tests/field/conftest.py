"""The fixtures through which the cases of the field are told: every door, both runtimes.

A module shares one memory a runtime, and each test has a namespace of its own in it: what a case is
about must hold beside everything else that a memory holds.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.application import Application
from mnemolog.cluster import ClusterBackend, make_worker
from mnemolog.doors import EmbeddedDoor, now_micros
from mnemolog.memory import Memory, ScopedMemory
from schemas.master import MasterKey
from tests.cli.conftest import cli
from tests.cluster.conftest import cluster
from tests.gateway.conftest import http
from tests.runtime import conftest as running

__all__ = ["cli", "cluster", "fresh", "http", "runtime"]

fresh = running.runtime
"""A memory of the test's own, with its policy (`tests.runtime.conftest.runtime`)."""


class Runtime:
    """A running memory, in a namespace of the test's own."""

    def __init__(self, shared: running.Runtime, stack: ExitStack) -> None:
        self._shared = shared
        self._stack = stack
        self._namespace = f"case-{uuid.uuid4().hex[:8]}"
        self.memory = shared.memory

    def scope(self, subject: str = "alice", branch: str = "main") -> ScopedMemory:
        """A scope of the test's namespace."""
        return self.memory.scope("acme", self._namespace, subject, branch)

    def rebuild(self) -> None:
        """Fold the whole ledger anew and answer from that; scopes are to be asked for again."""
        backend: Any = self._shared.door.backend
        if not isinstance(backend, ClusterBackend):
            self.memory.replay()
            return
        fresh = self._shared.data / f"gateway-{uuid.uuid4().hex[:8]}"
        door: Any = EmbeddedDoor.__new__(EmbeddedDoor)
        door.backend = ClusterBackend(backend._installation, fresh)
        self._stack.callback(door.backend.close)
        master = MasterKey.load(self._shared.data, os.environ)
        door.application = Application(door.backend, master, now_micros)
        self.memory = Memory(door)


@pytest.fixture(
    scope="module", params=["embedded", pytest.param("cluster", marks=pytest.mark.kafka)]
)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[running.Runtime]:
    """One memory of each runtime a module."""
    tmp: Path = tmp_path_factory.mktemp("field")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("XDG_STATE_HOME", str(tmp / "state"))
        if request.param == "embedded":
            yield running._embedded(tmp / "data", stack)
        else:
            bootstrap = request.getfixturevalue("kafka_bootstrap")
            patch.setenv("MNEMOLOG_TOPIC_PREFIX", f"f-{uuid.uuid4().hex[:10]}")
            yield running._cluster(tmp / "data", bootstrap, stack)


@pytest.fixture
def runtime(shared: running.Runtime) -> Iterator[Runtime]:
    """The module's memory, in a namespace of the test's own."""
    with ExitStack() as stack:
        yield Runtime(shared, stack)


@contextmanager
def admitting_again(stopped: running.Runtime) -> Iterator[None]:
    """Admission goes on, after `stop_admission`, until the end of the block."""
    backend: Any = stopped.door.backend
    if not isinstance(backend, ClusterBackend):
        backend.start()
        yield
        return
    worker = make_worker(backend._installation, stopped.data / "worker-1")
    thread = running.start_worker(worker)
    yield
    worker.stop()
    thread.join(30)
