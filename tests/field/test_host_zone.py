"""Group 1, case 2: the zone of the host changes nothing, on any path (SPEC §1).

One data directory, read by processes that stand in three zones; and deleted in a fourth.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mnemolog import Memory
from producers.importers import IMPORTERS
from tests.field.saying import fault_of, stated
from tests.producers.importing import imported

ZONES = {"UTC": "UTC", "Asia/Tokyo": "JST", "America/Los_Angeles": "PST"}
LATE = "2025-06-10T23:30:00Z"
MESSAGE = {
    "id": "m1",
    "author": {"role": "user"},
    "create_time": 1749598200.25,
    "content": {"parts": ["remember: gate | state | open"]},
}
CHAT = [{"id": "c1", "mapping": {"n1": {"id": "n1", "message": MESSAGE, "parent": None}}}]
MAIL = """From a@example.org Tue Jun 10 23:30:00 2025
From: a@example.org
Date: Tue, 10 Jun 2025 23:30:00 {zone}
Subject: gate
Message-ID: <1@example.org>

The gate is open.
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "chat.json").write_text(json.dumps(CHAT))
    (tmp_path / "mail.mbox").write_text(MAIL.format(zone="-0000"))
    return tmp_path


def in_zone(zone: str, *arguments: Path | str) -> Any:
    """The child's answer."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.field.zoned_child", *map(str, arguments)],
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_same_question_has_the_same_answer_on_every_host(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 2."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Memory.open(tmp_path / "data") as memory:
        alice = memory.scope("acme", "support", "alice")
        stated(alice, "gate", "state", "open", valid_from=LATE, fact_id="f1")
    answers = {zone: in_zone(zone, tmp_path / "data", sources) for zone in ZONES}
    for zone, answer in answers.items():
        assert answer.pop("zone")[0] == ZONES[zone]
        assert answer == answers["UTC"]
    told = answers["UTC"]
    assert [len(found) for found in told["facts"]] == [0, 1, 1]
    assert len(told["imported"]) == 3
    assert all("2025-06-10T23:30:00" in item for item in told["imported"])
    with Memory.open(tmp_path / "data", create=False) as memory:
        alice = memory.scope("acme", "support", "alice")
        for day in ("2025-06-10", "2025-06-10T00:00:00", "today"):
            assert fault_of(alice.facts, valid_at=day).field == "valid_at"
            assert fault_of(alice.recall, "gate", valid_at=day).field == "valid_at"
            assert fault_of(alice.history, "gate", "state", recorded_at=day).field == "recorded_at"


def test_mail_whose_date_has_no_zone_is_listed_and_not_put_into_the_hosts(tmp_path: Path) -> None:
    """Case 2."""
    path = tmp_path / "mail.mbox"
    path.write_text(MAIL.format(zone=""))
    events, skipped = imported(IMPORTERS["mbox"], path)
    assert events == []
    assert "zone" in skipped[0].reason
