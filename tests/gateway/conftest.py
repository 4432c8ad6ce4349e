"""A client of the HTTP door over a real embedded runtime, with keys of several principals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from mnemolog.doors import EmbeddedDoor
from schemas.kinds import Role, Tier
from schemas.master import MasterKey
from schemas.registry import Grant, RegistryFile
from tests.gateway.recorder import Door

SCOPE = {"tenant": "acme", "namespace": "support", "subject": "alice"}


class Http:
    """The app, and who may call it."""

    def __init__(self, door: EmbeddedDoor, data: Path) -> None:
        self.door = door
        self.client = TestClient(door.app(), raise_server_exceptions=False)
        registry = RegistryFile(data / "keys.json", MasterKey.load(data, os.environ))
        acme = [Grant("acme", "*", "*")]
        every = [Role.WRITER, Role.READER, Role.HISTORIAN, Role.AUDITOR, Role.OPERATOR]
        self.keys = {
            "all": registry.add("all", every, acme, Tier.SERVICE).key,
            "reader": registry.add("reader", [Role.READER], acme, Tier.USER).key,
            "other": registry.add("other", every, [Grant("other", "*", "*")], Tier.SERVICE).key,
        }

    def call(self, method: str, path: str, who: str = "all", **options: Any) -> Any:
        """A request as somebody; the response."""
        headers = {"Authorization": f"Bearer {self.keys[who]}"}
        return self.client.request(method, path, headers=headers, **options)

    def publish(self, *events: dict[str, Any], who: str = "all") -> list[dict[str, Any]]:
        """Publish and wait; receipts."""
        body = [{"scope": SCOPE, **event} for event in events]
        answer = self.call("POST", "/v1/events?wait=5", who, json=body)
        assert answer.status_code == 202, answer.text
        return list(answer.json()["receipts"])


@pytest.fixture
def http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Http]:
    """A fresh one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    door = EmbeddedDoor.open(tmp_path / "data")
    yield Http(door, tmp_path / "data")
    door.close()


@pytest.fixture
def door() -> Door:
    """The HTTP door over a recorder."""
    return Door()
