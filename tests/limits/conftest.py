"""A data directory that nobody admits to until a test says so, and its HTTP door."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from mnemolog.data_directory import DataDirectory
from mnemolog.doors import EmbeddedDoor
from mnemolog.embedded import Embedded
from schemas.master import MasterKey
from schemas.principals import local_api_key

Json = dict[str, Any]
BOUND = 10


class Held:
    """A runtime with room for so many undecided events a partition."""

    def __init__(self, path: Path, room: int) -> None:
        directory = DataDirectory(path, os.environ)
        directory.init(2)
        master = MasterKey.load(path, os.environ)
        self.backend = Embedded(directory, master, start=False, backlog=room)
        self.door = EmbeddedDoor(self.backend, master)
        self.client = TestClient(self.door.app())
        self.client.headers["authorization"] = f"Bearer {local_api_key(master)}"

    def publish(self, events: list[Json]) -> Any:
        """The response to one request."""
        return self.client.post("/v1/events", json=events)

    def decide(self) -> int:
        """Admit everything; how many records."""
        total = 0
        while admitted := self.backend.admit_once():
            total += admitted
        return total

    def entries(self) -> int:
        """How many entries the ledgers hold."""
        topic = self.backend.topics.ledger
        return sum(self.backend.log.end(topic, p) for p in range(self.backend.partitions))


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """A fresh one with little room."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Held(tmp_path / "data", BOUND)
    yield made
    made.door.close()


@pytest.fixture
def roomy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """A fresh one with room for a large scope."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Held(tmp_path / "data", 20_000)
    yield made
    made.door.close()
