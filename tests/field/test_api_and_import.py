"""Group 9, the doors: receipts, lists, imports and text that cannot be kept (INTERFACE).

What was taken can be asked about, what was left out is named, counts add up, and a list is whole.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemolog import Memory
from mnemolog.importing import Importing, run_import
from schemas.errors import Unavailable
from schemas.limits import CONTENT_BYTES, REQUEST_BYTES
from tests.cli.conftest import Cli
from tests.field.conftest import Runtime
from tests.field.saying import Json, fault_of
from tests.gateway.conftest import SCOPE, Http


def test_what_is_refused_after_it_was_taken_can_be_asked_about(runtime: Runtime) -> None:
    """Case 80: by the ids of the receipts; each says why and what to do."""
    alice = runtime.scope()
    alice.observe("Berlin, Berlin", event_id="o1")

    def said(event_id: str, quote: str) -> Json:
        premises = [{"observation": "o1", "quote": quote}]
        return {
            "kind": "assertion",
            "scope": alice._scope,
            "event_id": event_id,
            "fact_id": event_id,
            "entity": "alice",
            "attribute": "city",
            "value": "Berlin",
            "justifications": [{"premises": premises}],
        }

    events = [
        said("twice", "Berlin"),
        said("absent", "Paris"),
        {"kind": "observation", "scope": alice._scope, "event_id": "o1", "content": "other"},
    ]
    taken = runtime.memory.publish(events, wait=0)
    assert all(receipt.token for receipt in taken)
    for one in taken:
        alice.recall("Berlin", after=one.token)
    for event_id, state, code in (
        ("twice", "rejected", "ambiguous_quote"),
        ("absent", "quarantined", "quote_not_found"),
    ):
        receipt = alice.receipt(event_id, "assertion")
        assert receipt.reason is not None
        assert (receipt.state, receipt.reason.code) == (state, code)
        assert receipt.reason.remedy
        assert receipt.entry is not None
    refused = [entry for entry in alice.audit_entries().items if entry.decision == "rejected"]
    assert {entry.reason for entry in refused} == {"ambiguous_quote", "idempotency_conflict"}


def test_a_list_of_1137_is_whole_over_its_pages_also_while_it_is_deleted_from(
    runtime: Runtime,
) -> None:
    """Case 81."""
    alice = runtime.scope()
    names = [f"e{number:04}" for number in range(1_137)]
    runtime.memory.publish(
        [
            {"kind": "observation", "scope": alice._scope, "event_id": name, "content": name}
            for name in names
        ],
        wait=30,
    )
    fault = fault_of(alice.episodes, limit=5_000)
    assert (fault.field, fault.limit) == ("limit", "1000")
    first = alice.episodes(limit=1_000)
    rest = alice.episodes(limit=1_000, cursor=first.next_cursor)
    assert [episode.event_id for episode in (*first.items, *rest.items)] == names
    assert rest.next_cursor is None
    seen, cursor, gone = [], None, set()
    while True:
        page = alice.episodes(limit=250, cursor=cursor)
        seen += [episode.event_id for episode in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        last = names.index(seen[-1])
        for name in (names[last], names[last + 1], names[last + 100]):
            assert alice.forget(observation=name).state == "accepted"
            gone |= {name} - set(seen)
    assert seen == [name for name in names if name not in gone]
    assert len(gone) == 8


def _talk(number: int, **changes: Any) -> Json:
    message = {
        "id": f"m{number}",
        "author": {"role": "user"},
        "create_time": 1_700_000_000.25 + number,
        "content": {"parts": [f"number {number}"]},
    }
    node = {"id": "n", "parent": None, "message": message | changes.pop("message", {})}
    return {"id": f"c{number}", "title": "a talk", "mapping": {"n": node}, **changes}


GOOD, UNTITLED, UNDATED = (
    _talk(1),
    _talk(2, title=None),
    _talk(3, message={"create_time": None}),
)


def _plain(talks: list[Json], path: Path) -> None:
    path.write_text(json.dumps(talks, indent=1))


def _with_mark(talks: list[Json], path: Path) -> None:
    path.write_text("\ufeff" + json.dumps(talks), encoding="utf-8")


def _with_crlf(talks: list[Json], path: Path) -> None:
    path.write_bytes(json.dumps(talks, indent=1).encode().replace(b"\n", b"\r\n"))


def _in_parts(talks: list[Json], path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number, talk in enumerate(talks):
            archive.writestr(f"export/conversations-{number:03}.json", json.dumps([talk]))


@pytest.mark.parametrize("write", [_plain, _with_mark, _with_crlf, _in_parts])
def test_the_good_ones_of_an_export_come_in_and_the_others_are_listed(
    runtime: Runtime, tmp_path: Path, write: Callable[[list[Json], Path], None]
) -> None:
    """Case 83."""
    path = tmp_path / "export"
    write([GOOD, UNTITLED, UNDATED], path)
    alice = runtime.scope()
    done = run_import(Importing("chatgpt", path, alice._scope), runtime.memory.publish).as_json()
    assert (done["read"], done["events"]) == (3, {"observation": 2})
    assert done["receipts"] == {"accepted": 2}
    (skipped,) = done["skipped"]
    assert "create_time" in skipped["reason"]
    assert "conversation 3" in skipped["where"]
    assert [e.content for e in alice.episodes().items] == ["number 1", "number 2"]
    again = run_import(Importing("chatgpt", path, alice._scope), runtime.memory.publish)
    assert again.states == {"duplicate": 2}


def test_all_parts_of_an_export_are_read_and_a_fault_in_one_spoils_no_other(
    runtime: Runtime, tmp_path: Path
) -> None:
    """Case 83: fifty parts, one cut, one not UTF-8, one no list; and a message of fifty parts."""
    talks = [_talk(number) for number in range(50)]
    talks[7] = _talk(7, message={"content": {"parts": [f"part {n}" for n in range(50)]}})
    path = tmp_path / "export.zip"
    spoiled = {11: b'[{"mapping": {', 23: b"[\xff]", 37: b"{}"}
    with zipfile.ZipFile(path, "w") as archive:
        for number, talk in enumerate(talks):
            raw = spoiled.get(number, json.dumps([talk]).encode())
            archive.writestr(f"conversations-{number:03}.json", raw)
    alice = runtime.scope()
    done = run_import(Importing("chatgpt", path, alice._scope), runtime.memory.publish).as_json()
    assert (done["read"], done["receipts"]) == (50, {"accepted": 47})
    told = [(item["where"], item["reason"]) for item in done["skipped"]]
    for number, reason in ((11, "not JSON"), (23, "not UTF-8"), (37, "not a list")):
        assert any(
            f"conversations-{number:03}.json" in where and reason in why for where, why in told
        )
    contents = [episode.content for episode in alice.episodes().items]
    assert contents[-1] == "number 49"
    assert "\n".join(f"part {n}" for n in range(50)) in contents


def test_an_import_of_which_nothing_came_is_no_success(cli: Cli, tmp_path: Path) -> None:
    """Case 83: the report lists each, and the exit status agrees."""
    path = tmp_path / "export.json"
    _plain([UNDATED], path)
    done = cli.json("import", "chatgpt", str(path), status=1)
    assert (done["read"], done["events"], done["receipts"]) == (1, {}, {})
    assert len(done["skipped"]) == 1
    _plain([UNDATED, GOOD], path)
    assert cli.json("import", "chatgpt", str(path))["receipts"] == {"accepted": 1}


def test_an_import_through_a_server_stays_within_what_a_request_holds(
    cli: Cli, tmp_path: Path
) -> None:
    """Cases 70 and 83: 12 MiB in lines of 600 KiB, and one line that no request can hold."""
    cli.serve()
    lines = [
        json.dumps({"kind": "observation", "event_id": f"e{n}", "content": "x" * 600 * 1024})
        for n in range(20)
    ]
    lines.insert(10, json.dumps({"kind": "observation", "content": "y" * (REQUEST_BYTES - 60)}))
    path = tmp_path / "large.jsonl"
    path.write_text("\ufeff" + "\n".join(lines))
    done = cli.json("import", "jsonl", str(path))
    assert (done["read"], done["receipts"]) == (21, {"accepted": 20})
    assert str(REQUEST_BYTES) in done["skipped"][0]["reason"]
    scoped = [{**json.loads(line), "scope": SCOPE} for line in lines]
    path.write_text("\ufeff" + "\n".join(json.dumps(event) for event in scoped))
    done = cli.run("--json", "publish", str(path))
    assert done.returncode == 1, done.stderr
    receipts = [json.loads(line) for line in done.stdout.splitlines()]
    states = [receipt["state"] for receipt in receipts]
    assert states == ["duplicate"] * 10 + ["rejected"] + ["duplicate"] * 10
    assert receipts[10]["reason"]["code"] == "too_long"


def test_text_that_cannot_be_kept_is_refused_at_the_door_with_its_position(http: Http) -> None:
    """Case 84: also where a text was cut inside an emoji; nothing of it is stored."""
    cut = "\U0001f600".encode("utf-16-be", "surrogatepass")[:2].decode("utf-16-be", "surrogatepass")
    for text, position in (("ok\0", 2), ("\ud83d", 0), ("ab" + cut, 2), ("x" * 999 + cut, 999)):
        body = json.dumps({"kind": "observation", "scope": SCOPE, "content": text}).encode()
        answer = http.call("POST", "/v1/events", content=body)
        assert answer.status_code == 422
        assert f"character {position}" in answer.json()["detail"]
    assert http.call("GET", "/v1/episodes", params=SCOPE).json()["items"] == []


def test_bytes_of_a_command_line_that_are_no_text_are_refused_with_their_position(cli: Cli) -> None:
    """Case 84."""
    cli.json("init")
    refused = cli.json("observe", os.fsdecode(b"caf\xe9"), status=1)
    assert (refused["code"], refused["field"]) == ("lone_surrogate", "content")
    assert "character 3" in refused["detail"]


def test_whole_emoji_are_untouched_up_to_the_limit_and_nothing_is_cut_to_fit(
    runtime: Runtime,
) -> None:
    """Case 84."""
    alice = runtime.scope()
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    full = "\U0001f600" * (CONTENT_BYTES // 4)
    for text in (family, "ok\ufffd", full):
        alice.observe(text)
    assert [episode.content for episode in alice.episodes().items] == [family, "ok\ufffd", full]
    fault = fault_of(alice.observe, full + "x")
    assert (fault.code, fault.limit) == ("too_long", f"{CONTENT_BYTES} bytes")
    assert len(alice.episodes().items) == 3


NAMES = {
    "composed": "港/検査_\u00e9.jsonl".encode(),
    "decomposed": "港/検査_e\u0301.jsonl".encode(),
    "no UTF-8": b"\xff\xfe/caf\xe9.jsonl",
    "blanks and quotes": b'a b/it\'s "so" $x\n.jsonl',
}


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_any_name_is_read_or_said_to_be_missing(
    runtime: Runtime, tmp_path: Path, name: str
) -> None:
    """Case 87."""
    path = tmp_path / os.fsdecode(NAMES[name])
    path.parent.mkdir()
    alice = runtime.scope()
    with pytest.raises(Unavailable, match="No such file"):
        run_import(Importing("jsonl", path, alice._scope), runtime.memory.publish)
    path.write_text(json.dumps({"kind": "observation", "content": "hello"}))
    done = run_import(Importing("jsonl", path, alice._scope), runtime.memory.publish)
    assert done.states == {"accepted": 1}


def test_a_name_that_is_no_text_is_shown_as_text_by_the_command_line(
    cli: Cli, tmp_path: Path
) -> None:
    """Case 87: where the terminal takes nothing but UTF-8."""
    cli.env |= {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:strict"}
    refused = cli.json("import", "jsonl", str(tmp_path / os.fsdecode(b"caf\xe9")), status=3)
    assert "caf\udce9: No such file" in refused["detail"]


@pytest.mark.parametrize("name", NAMES)
def test_a_data_directory_of_any_name_works_or_is_refused_at_once(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 87: where its stores cannot be opened, nothing is made and it is said what to do."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / os.fsdecode(NAMES[name])
    if name == "no UTF-8":
        with pytest.raises(Unavailable, match="not UTF-8"):
            Memory.open(path)
        assert not path.exists()
        return
    for _ in range(2):
        with Memory.open(path) as memory:
            memory.scope("acme", "support", "alice").observe("hello")
            assert memory.verify(deep=True).ok
