"""INTERFACE "CLI": verbs, exit statuses, `--json`, and how other verbs reach a serving process."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.cli.conftest import Cli

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def told(cli: Cli) -> None:
    """Alice's city, observed and asserted."""
    cli.json("observe", "I moved to Berlin in May.", "--id", "e1")
    fact = cli.json(
        "assert",
        "alice",
        "city",
        "Berlin",
        "--source",
        "e1",
        "--quote",
        "moved to Berlin",
        "--from",
        "2026-05-01T00:00:00Z",
        "--fact-id",
        "f1",
    )
    assert (fact["state"], fact["fact_id"]) == ("accepted", "f1")


def test_the_main_job(cli: Cli) -> None:
    assert cli.json("init", "--partitions", "2")["partitions"] == 2
    told(cli)
    found = cli.json("recall", "where does alice live?")
    assert found["results"][0]["id"] == "f1"
    claim = ("release", "--claim", "alice", "city", "Berlin", "--fact", "f1")
    assert cli.json(*claim)["decision"] == "release"
    wrong = cli.json("release", "--claim", "alice", "city", "Rome", "--fact", "f1", status=1)
    assert wrong["claims"][0]["reason"] == "mismatch"
    assert cli.json("facts")["items"][0]["fact_id"] == "f1"
    assert cli.json("retract", "f1", "--reason", "wrong")["state"] == "accepted"
    assert cli.json(*claim, status=1)["claims"][0]["reason"] == "retracted"
    assert cli.json("history", "alice", "city")["items"] == []
    assert cli.json("audit")["items"][0]["status"] == "retracted"
    assert cli.json("verify", "--deep") == {
        "ok": True,
        "partitions": cli.json("verify")["partitions"],
        "damage": [],
        "notices": [],
    }
    assert cli.json("replay")["entries"] == 3
    assert cli.json("forget", "--subject")["state"] == "accepted"
    assert cli.json("episodes")["items"] == []
    assert cli.json("doctor")["ok"]


def test_typed_values_are_said_with_type(cli: Cli) -> None:
    cli.json("observe", "He is 42 years old.", "--id", "e1")
    common = ("--source", "e1", "--quote", "42 years")
    fact = cli.json("assert", "bob", "age", "42", "--type", "integer", *common)
    said = ("release", "--type", "integer", "--claim", "bob", "age", "42", "--fact")
    assert cli.json(*said, fact["fact_id"])["decision"] == "release"
    untyped = ("release", "--claim", "bob", "age", "42", "--fact", fact["fact_id"])
    assert cli.json(*untyped, status=1)["claims"][0]["reason"] == "mismatch"


def test_publish_takes_a_file_and_gives_a_receipt_a_line(cli: Cli) -> None:
    lines = (EXAMPLES / "events.jsonl").read_text() + '{"kind": "joke"}\nnot json\n'
    done = cli.run("--json", "publish", "-", stdin=lines)
    assert done.returncode == 1
    receipts = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(receipts) == len(lines.splitlines())
    assert [receipt["state"] for receipt in receipts[-2:]] == ["rejected", "rejected"]
    assert all(receipt["state"] != "rejected" for receipt in receipts[:-2])


def test_importing_twice_changes_nothing(cli: Cli) -> None:
    first = cli.json("import", "git", str(EXAMPLES / "garden-lights.bundle"))
    again = cli.json("import", "git", str(EXAMPLES / "garden-lights.bundle"))
    assert first["receipts"] == {"accepted": 33}
    assert again["receipts"] == {"duplicate": 33}
    entries = sum(p["entries"] for p in cli.json("verify")["partitions"])
    assert entries == 66


def test_exit_statuses(cli: Cli) -> None:
    absent = cli.json("facts", status=3)
    assert "init" in absent["remedy"]
    cli.json("init")
    refused = cli.json(
        "assert", "a", "b", "c", "--source", "e", "--quote", "q", "--from", "2026", status=1
    )
    assert (refused["code"], refused["field"]) == ("imprecise_time", "valid_from")
    assert cli.json("recall", "x", "--valid-at", "yesterday", status=2)["field"] == "valid_at"
    assert cli.run("bogus").returncode == 2
    assert cli.run("release", "--claim", "too", "few").returncode == 2
    assert cli.run("forget", "--observation", "a", "--fact", "b").returncode == 2
    parked = cli.json("assert", "a", "b", "c", "--source", "later", "--quote", "q")
    assert parked["state"] == "parked"
    assert cli.json("import", "mbox", "/nowhere", status=3)["remedy"]


def test_other_verbs_reach_the_process_that_serves(cli: Cli) -> None:
    url = cli.serve()
    told(cli)
    assert cli.json("doctor")["ok"]
    key = cli.json("keys", "add", "bob", "--role", "reader", "--tenant", "acme", "--trust", "user")[
        "key"
    ]
    server = ("--url", url, "--key", key)
    assert cli.json(*server, "facts")["items"][0]["fact_id"] == "f1"
    assert cli.json(*server, "observe", "hello", status=1)["code"] == "not_granted"
    cli.json("keys", "revoke", "bob")
    assert cli.json(*server, "facts", status=1)["code"] == "unknown_key"
    assert cli.json("keys", "list")[0]["revoked"]
    assert cli.json("replay")["entries"] == 2
    assert cli.serving is not None
    cli.serving.send_signal(signal.SIGTERM)
    assert cli.serving.wait(20) == 0
    assert cli.json("facts")["items"][0]["fact_id"] == "f1"


def test_kill_9_of_the_embedded_process_loses_nothing_acknowledged(cli: Cli) -> None:
    cli.serve()
    for n in range(20):
        cli.json("observe", f"number {n}", "--id", f"e{n}")
    assert cli.serving is not None
    cli.serving.kill()
    cli.serving.wait()
    assert len(cli.json("episodes")["items"]) == 20
    found = cli.json("verify", "--deep")
    assert found["ok"]
    assert sum(partition["entries"] for partition in found["partitions"]) == 20


def test_an_older_copy_of_the_log_is_damage_that_says_how_much_is_missing(
    cli: Cli, tmp_path: Path
) -> None:
    import shutil

    told(cli)
    shutil.copytree(cli.data, tmp_path / "backup")
    for n in range(3):
        cli.json("observe", f"more {n}")
    shutil.rmtree(cli.data)
    shutil.copytree(tmp_path / "backup", cli.data)
    found = cli.json("verify", status=1)
    assert [(d["what"], d["detail"]) for d in found["damage"]] == [
        ("truncated", "3 entries are missing: the anchor saw 5")
    ]
    refused = cli.json("recall", "Berlin", status=3)
    assert refused["code"] == "ledger_damaged"


def test_policy_show_and_policy_toml(cli: Cli) -> None:
    cli.json("init")
    before = cli.json("policy", "show")
    (cli.data / "policy.toml").write_text('multi_valued = ["city"]\n')
    after = cli.json("policy", "show")
    assert "city" in after["multi_valued"]
    assert "tag" in after["multi_valued"]
    assert before["version"] != after["version"]
    (cli.data / "policy.toml").write_text("nonsense = 1\n")
    assert cli.json("facts", status=3)["remedy"]
