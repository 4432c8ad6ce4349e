"""The examples that the product ships: invented, reproducible, and doing what their README says."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

from producers.importers import IMPORTERS, read_jsonl
from schemas.boundary import parse_event
from tests.producers.importing import SCOPE, Json, check_quotes, facts, imported, passed_on

EXAMPLES = Path(__file__).parents[2] / "examples"


def valued(events: list[Json], attribute: str) -> dict[str, Json]:
    return {e["value"]: e for e in events if e.get("attribute") == attribute}


def test_the_repository() -> None:
    events, skipped = imported(IMPORTERS["git"], EXAMPLES / "garden-lights.bundle")
    assert not skipped
    assert Counter(event["kind"] for event in events) == {"observation": 12, "assertion": 21}
    assert {entity for entity, attribute, _ in facts(events) if attribute != "author"} == {
        "garden-lights"
    }
    assert len(valued(events, "author")) == 3

    licences, versions = valued(events, "license"), valued(events, "version")
    assert list(licences) == ["MIT", "Apache-2.0"]
    assert licences["Apache-2.0"]["supersedes"] == licences["MIT"]["fact_id"]
    assert list(versions) == ["0.1.0", "0.2.0", "0.3.0", "0.4.0"]
    chain = list(versions.values())
    assert [e["supersedes"] for e in chain] == [None, *(e["fact_id"] for e in chain[:-1])]

    ines, yuki, tomas = valued(events, "maintainer").values()
    assert yuki["supersedes"] == tomas["supersedes"] == ines["fact_id"]


def test_the_repository_is_made_again_by_its_script(tmp_path: Path) -> None:
    again = tmp_path / "garden-lights.bundle"
    subprocess.run([EXAMPLES / "make_bundle.sh", again], check=True, capture_output=True)
    shipped = imported(IMPORTERS["git"], EXAMPLES / "garden-lights.bundle")
    assert imported(IMPORTERS["git"], again) == shipped
    assert (EXAMPLES / "garden-lights.bundle").stat().st_size < 50_000


def test_the_conversation() -> None:
    events, skipped = imported(IMPORTERS["chatgpt"], EXAMPLES / "conversations.json")
    assert not skipped
    assert Counter(event["kind"] for event in events) == {"observation": 12, "assertion": 5}
    cities, colors = valued(events, "city"), valued(events, "lamp color")
    assert cities["Porto"]["supersedes"] == cities["Lisbon"]["fact_id"]
    assert [e["supersedes"] for e in colors.values()] == [None, None]
    assert list(colors) == ["amber", "soft white"]
    assert list(valued(events, "ladder")) == ["none in the house"]
    assert not valued(events, "power limit")


def test_the_events() -> None:
    events, skipped, _ = passed_on(IMPORTERS["jsonl"], EXAMPLES / "events.jsonl")
    assert not skipped
    lines = (EXAMPLES / "events.jsonl").read_text().splitlines()
    assert [e | {"idempotency_key": e["event_id"]} for e in map(json.loads, lines)] == events
    assert Counter(event["kind"] for event in events) == {
        "observation": 5,
        "assertion": 5,
        "retraction": 1,
        "deletion": 1,
    }
    sources = {e["event_id"]: e["content"] for e in events if e["kind"] == "observation"}
    for event in events:
        parse_event(event, adapter="importer", now=0, new_id=str)
        if event["kind"] == "assertion":
            check_quotes(event, sources)
            assert event["value"] in event["justifications"][0]["premises"][0]["quote"]
    assert list(read_jsonl(EXAMPLES / "events.jsonl", SCOPE)) == events


def test_no_address_is_anybodys() -> None:
    for name in ("conversations.json", "events.jsonl", "make_bundle.sh", "README.md"):
        addresses = re.findall(r"[\w.]+@[\w.]+", (EXAMPLES / name).read_text())
        assert all(address.endswith("@example.org") for address in addresses)
