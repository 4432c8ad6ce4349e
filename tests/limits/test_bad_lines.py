"""Bad lines of an event file through the command: each its own receipt, the good are taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

MIB = 1024 * 1024
SCOPE = {"tenant": "acme", "namespace": "support", "subject": "alice"}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command, on a fresh data directory."""
    return Cli(tmp_path)


def line(name: str, content: str, **fields: object) -> str:
    """An observation."""
    said = {"kind": "observation", "event_id": name, "scope": SCOPE, "content": content}
    return json.dumps({**said, **fields})


def test_each_bad_line_is_answered_in_its_place_and_the_good_ones_are_taken(
    cli: Cli, tmp_path: Path
) -> None:
    bad = {
        line("large", "x" * (2 * MIB)): ("too_long", "content"),
        "[" * 100_000: ("too_deep", ""),
        line("half", "\ud83d"): ("lone_surrogate", "content"),
        line("nul", "a\0b"): ("nul", "content"),
        line("twice", "x").replace('"content"', '"content": "y", "content"'): (
            "repeated_field",
            "content",
        ),
        line("late", "x", occurred_at="2026"): ("imprecise_time", "occurred_at"),
        line("a*", "x", purpose="*"): ("wildcard", "purpose"),
        "7": ("wrong_type", ""),
        '{"kind"': ("invalid_json", ""),
    }
    lines = [line("first", "hello"), *bad, line("last", "good bye")]
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(lines))
    done = cli.run("--json", "publish", str(file))
    receipts = [json.loads(each) for each in done.stdout.splitlines()]
    assert done.returncode == 1
    assert len(receipts) == len(lines)
    assert [receipts[n]["state"] for n in (0, -1)] == ["accepted", "accepted"]
    for receipt, (code, field) in zip(receipts[1:-1], bad.values(), strict=True):
        assert (receipt["state"], receipt["reason"]["code"]) == ("rejected", code)
        assert receipt["reason"]["field"] == field
        assert receipt["reason"]["remedy"]
    held = [episode["event_id"] for episode in cli.json("episodes")["items"]]
    assert held == ["first", "last"]
