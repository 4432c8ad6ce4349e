"""Where the tests' schema registry comes from: the first of these that there is.

1. `SCHEMA_REGISTRY_URL`, if set: Confluent's API there, and it must answer.
2. Apicurio Registry on the local JVM, by `infra/registry/registry.sh`, on ports that are fixed for
   this worker process and checked to be free; it ends with the test run, even if that is killed.

Where there is none the test skips, saying why, or fails if `MNEMOLOG_REQUIRE_REGISTRY=1`. A
registry serves a whole session, so a test uses subjects of its own.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import pytest

SCRIPT = Path(__file__).parents[2] / "infra" / "registry" / "registry.sh"
FIRST_PORT = 28092  # below the broker's (tests/broker.py)
PORTS_A_WORKER = 10
UP_SECONDS = 240.0  # the first time Maven fetches the application


class NoRegistry(Exception):
    """This source has no registry to offer; the text says why."""


class LocalRegistry:
    """A registry on the local JVM; what it holds is gone once it ends.

    `up` returns the URL of Confluent's API and raises `NoRegistry` where Java, Maven or the
    application are missing or every port is taken; `kill` ends it at once.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def up(self) -> str:
        """Start it, on the first ports that are free."""
        worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        first = FIRST_PORT + PORTS_A_WORKER * worker
        for port in range(first, first + PORTS_A_WORKER, 2):
            if answers_tcp(port):  # another registry, which would answer for the new one
                continue
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    [SCRIPT, "run", str(port)], stdin=subprocess.PIPE, stderr=log
                )
            if self._answers(f"http://127.0.0.1:{port}/apis/ccompat/v7"):
                return f"http://127.0.0.1:{port}/apis/ccompat/v7"
        raise NoRegistry(f"a port of each pair of {first} to {port + 1} is taken")

    def kill(self) -> None:
        """End it and wait until its ports are free."""
        if self._process is not None:
            self._process.communicate()  # it runs as long as its standard input does
            self._process = None

    def _answers(self, url: str) -> bool:
        """Wait until it answers; False if a port is taken."""
        assert self._process is not None
        deadline = time.monotonic() + UP_SECONDS
        while (code := self._process.poll()) is None:
            if answers(url):
                return True
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.1)
        if code == 4:
            return False
        words = self._log.read_text().strip()
        if code == 3:
            raise NoRegistry(words)
        raise RuntimeError(f"registry.sh: {words}")


def answers_tcp(port: int) -> bool:
    """Whether anything listens on a port of this machine."""
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def answers(url: str) -> bool:
    """Whether a registry answers there."""
    try:
        with urllib.request.urlopen(f"{url}/subjects", timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def give_up(reason: str) -> NoReturn:
    """Skip the test for this reason, or fail it where a registry is required."""
    text = f"no schema registry: SCHEMA_REGISTRY_URL is not set; {reason}"
    if os.environ.get("MNEMOLOG_REQUIRE_REGISTRY") == "1":
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


OwnRegistry = Callable[[], tuple[LocalRegistry, str]]


@pytest.fixture(scope="session")
def registry_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Confluent's API of the session's registry."""
    given = os.environ.get("SCHEMA_REGISTRY_URL")
    if given:
        assert answers(given), f"SCHEMA_REGISTRY_URL={given} does not answer"
        yield given
        return
    registry = LocalRegistry(tmp_path_factory.mktemp("registry") / "log")
    try:
        yield _started(registry)
    finally:
        registry.kill()


@pytest.fixture
def own_registry(tmp_path: Path) -> Iterator[OwnRegistry]:
    """Starts a registry that this test alone uses, and may end."""
    with ExitStack() as stack:

        def start() -> tuple[LocalRegistry, str]:
            registry = LocalRegistry(tmp_path / "registry.log")
            stack.callback(registry.kill)
            return registry, _started(registry)

        yield start


def _started(registry: LocalRegistry) -> str:
    try:
        return registry.up()
    except NoRegistry as reason:
        give_up(str(reason))
