"""A server that is asked to stop under load: what it acknowledged is there, once, and nothing else.

A real process, real HTTP, publishers that know only what they were answered.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemolog.doors import EmbeddedDoor
from schemas.master import MasterKey
from schemas.principals import local_api_key
from tests.cli.conftest import Cli

PUBLISHERS = 4
BATCH = 10
ENOUGH = 300
SCOPE = {"tenant": "acme", "namespace": "support", "subject": "alice"}


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Cli]:
    """A process that serves."""
    made = Cli(tmp_path)
    yield made
    if made.serving is not None:
        made.serving.kill()
        made.serving.communicate()


class Publisher(threading.Thread):
    """Publishes batches, every other one waiting for its decisions, until nobody answers."""

    def __init__(self, url: str, key: str, number: int, told: threading.Semaphore) -> None:
        super().__init__()
        self._client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"})
        self._number = number
        self._told = told
        self.sent: list[str] = []
        self.acknowledged: list[str] = []
        self.refusals: Counter[int] = Counter()

    def run(self) -> None:
        """Until the connection is refused."""
        for round_ in itertools.count():
            names = [f"e{self._number}-{round_}-{n}" for n in range(BATCH)]
            subject = {**SCOPE, "subject": f"s{self._number}-{round_ % 8}"}
            events = [
                {"kind": "observation", "event_id": name, "scope": subject, "content": name}
                for name in names
            ]
            self.sent += names
            try:
                answer = self._client.post(
                    "/v1/events", content=json.dumps(events), params={"wait": round_ % 2 * 5}
                )
            except httpx.HTTPError:
                return
            if answer.status_code == 202:
                self.acknowledged += names
                self._told.release()
            else:
                self.refusals[answer.status_code] += 1


def listed(path: Path, subjects: set[str]) -> list[str]:
    """Every observation that memory holds, by its id, as often as it is there."""
    door, names = EmbeddedDoor.open(path, create=False), []
    try:
        while door.backend.admit_once():
            pass
        for subject in sorted(subjects):
            params: dict[str, Any] = {**SCOPE, "subject": subject, "limit": 7}
            while True:
                page = door.page("episodes", params)
                names += [item.event_id for item in page.items]
                if page.next_cursor is None:
                    break
                params["cursor"] = page.next_cursor
        assert door.verify(deep=True).ok
    finally:
        door.close()
    return names


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_what_was_acknowledged_before_the_stop_is_there_once(
    serving: Cli, sent: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", serving.env["XDG_STATE_HOME"])
    url = serving.serve()
    key = local_api_key(MasterKey.load(serving.data, os.environ))
    told = threading.Semaphore(0)
    publishers = [Publisher(url, key, number, told) for number in range(PUBLISHERS)]
    for publisher in publishers:
        publisher.start()
    for _ in range(ENOUGH // BATCH):
        assert told.acquire(timeout=30)
    process = serving.serving
    assert process is not None
    process.send_signal(sent)
    assert process.wait(30) == 0
    for publisher in publishers:
        publisher.join(60)
        assert not publisher.is_alive()
        assert set(publisher.refusals) <= {503}
    acknowledged = {name for publisher in publishers for name in publisher.acknowledged}
    published = {name for publisher in publishers for name in publisher.sent}
    assert len(acknowledged) >= ENOUGH
    subjects = {f"s{number}-{n}" for number in range(PUBLISHERS) for n in range(8)}
    there = listed(serving.data, subjects)
    assert len(there) == len(set(there))
    assert acknowledged <= set(there) <= published
