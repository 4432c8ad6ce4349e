"""`house`: a data directory with a history, as an orderly end or a kill left it; its command line.

A test breaks something in it and asks. Whatever happens, a public read gives the undisturbed answer
or none at all, and what is refused names the part, its path and what to type.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import structlog

from mnemolog import Memory
from mnemolog.cli.app import main
from mnemolog.data_directory import DataDirectory

SCOPE = {"tenant": "acme", "namespace": "support", "subject": "alice", "branch": "main"}
EPISODES = 300
AT = ("--valid-at", "2026-06-01T00:00:00Z")
QUESTIONS = (
    ("facts", *AT),
    ("recall", "where does number 7 live?", *AT),
    ("episodes", "--limit", "1000"),
    ("release", "--claim", "alice", "city", "Berlin", "--fact", "f1", *AT),
)
ITS_OWN = ("token", "mac", "next_cursor", "valid_at", "record")


class Said(NamedTuple):
    """How a call ended: exit status, the JSON document, and the lines beside it."""

    status: int
    document: Any
    beside: str

    @property
    def text(self) -> str:
        return json.dumps(self.document, ensure_ascii=False)


class House:
    """A data directory at `data`, its anchors beside it, and a copy of both to restore from."""

    def __init__(self, root: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.data = root / "data"
        self.backup = root / "backup"
        self._capture = capture

    def run(self, *words: str) -> Said:
        """One call of the command line, `--json`."""
        self._capture.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["--data", str(self.data), "--json", *words])
        structlog.reset_defaults()  # it was told to write to a stream that ends with this test
        said = self._capture.readouterr()
        document = json.loads(said.out) if said.out.strip() else None
        assert isinstance(ended.value.code, int)
        return Said(ended.value.code, document, said.err)

    def type_remedy(self, said: Said) -> Said:
        """Type what a refusal says."""
        command = said.document["remedy"].split("type: ", 1)[1]
        words = shlex.split(command)
        assert words[:3] == ["mnemolog", "--data", str(self.data)]
        return self.run(*words[3:])

    def answers(self) -> list[Any]:
        """What the questions are answered, without what is of the moment."""
        said = [self.run(*question) for question in QUESTIONS]
        assert [one.status for one in said] == [0] * len(said), said
        return [plain(one.document) for one in said]

    def restore(self, *parts: str) -> None:
        """Put parts of the directory (or all of it) back from the copy."""
        for part in parts or ("",):
            shutil.rmtree(self.data / part, ignore_errors=True)
            where = self.backup / part
            if where.is_dir():
                shutil.copytree(where, self.data / part)
            else:
                shutil.copy(where, self.data / part)

    def never_lies(self, expected: list[Any]) -> list[Said]:
        """Ask everything: the undisturbed answer or a refusal that names a path and a remedy."""
        refused = []
        for question, answer in zip(QUESTIONS, expected, strict=True):
            said = self.run(*question)
            if said.status == 0:
                assert plain(said.document) == answer, question
            else:
                assert said.status == 3, said
                assert said.document["remedy"], said
                assert "Traceback" not in said.beside
                refused.append(said)
        return refused

    def goes_on(self, expected: list[Any]) -> None:
        """Nothing was lost, everything fits, and writing goes on."""
        assert self.answers() == expected
        found = self.run("verify", "--deep")
        assert found.status == 0, found
        assert found.document["notices"] == []
        assert self.run("doctor").status == 0
        more = self.run("observe", "and it goes on", "--id", f"more-{random.random()}")
        assert more.document["state"] == "accepted"


def plain(value: Any) -> Any:
    """A document without what tells the moment it was made."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in ITS_OWN}
    return [plain(one) for one in value] if isinstance(value, list) else value


def history() -> list[dict[str, Any]]:
    """Episodes with words of their own, a fact that is released, and one that was retracted."""
    words = random.Random(3)
    events: list[dict[str, Any]] = [
        {
            "kind": "observation",
            "event_id": f"e{n}",
            "scope": SCOPE,
            "content": f"number {n} lives at {''.join(words.choices('abcdefgh ', k=500))}",
        }
        for n in range(EPISODES)
    ]
    events.append(
        {"kind": "observation", "event_id": "told", "scope": SCOPE, "content": "moved to Berlin"}
    )
    for fact_id, city in (("f1", "Berlin"), ("f2", "moved")):
        events.append(
            {
                "kind": "assertion",
                "event_id": f"a-{fact_id}",
                "fact_id": fact_id,
                "scope": SCOPE,
                "entity": "alice",
                "attribute": "city" if fact_id == "f1" else "state",
                "value": city,
                "valid_from": "2026-01-01T00:00:00Z",
                "justifications": [{"premises": [{"observation": "told", "quote": city}]}],
            }
        )
    events.append({"kind": "retraction", "event_id": "r", "scope": SCOPE, "fact_id": "f2"})
    return events


class _Past(NamedTuple):
    """Directories as an orderly end, and as a kill, left them; their anchors; the answers."""

    ended: Path
    killed: Path


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> _Past:
    """Made once: one partition, so that every event meets every store."""
    root = tmp_path_factory.mktemp("past")
    made = _Past(root / "ended", root / "killed")
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_STATE_HOME", str(made.ended / "state"))
    DataDirectory(made.ended / "data", os.environ).init(1)
    with Memory.open(made.ended / "data") as memory:
        receipts = memory.publish(history(), wait=60)
        assert {receipt.state for receipt in receipts} == {"accepted"}
    with Memory.open(made.ended / "data") as memory:  # so that something stands in a table
        memory.publish(
            [{"kind": "observation", "event_id": "last", "scope": SCOPE, "content": "the last"}],
            wait=60,
        )
        shutil.copytree(made.ended, made.killed)
    patch.undo()
    return made


def _house(
    made: Path, root: Path, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
) -> House:
    for name, value in SCOPE.items():
        monkeypatch.setenv(f"MNEMOLOG_{name.upper()}", value)
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    shutil.copytree(made, root, dirs_exist_ok=True)
    shutil.copytree(root / "data", root / "backup")
    return House(root, capture)


@pytest.fixture
def house(
    past: _Past,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> House:
    """After an orderly end: everything stands in tables, the write-ahead logs are empty."""
    return _house(past.ended, tmp_path, monkeypatch, capsys)


@pytest.fixture
def killed_house(
    past: _Past,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> House:
    """After a kill: what was written last stands in the write-ahead logs alone."""
    return _house(past.killed, tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="session")
def expected_of() -> dict[str, Any]:
    """The undisturbed answers, kept once they were asked for."""
    return {}


@pytest.fixture
def expected(house: House, expected_of: dict[str, Any]) -> list[Any]:
    """What an undisturbed directory answers; `house` is as it was before it was asked."""
    if not expected_of:
        expected_of["answers"] = house.answers()
        house.restore()
    return list(expected_of["answers"])
