"""What a release wrote is read for ever: its events, and its ledger (SPEC §2, §3)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from projections.kv_memory import MemoryStore
from projections.ports import LogRecord
from schemas import writers
from schemas.codec import Codec
from schemas.entry import parse_entry
from schemas.kinds import KIND_OF_WORD, Kind
from schemas.released import released
from tests.core.harness import TOPICS
from tests.schemas.golden import Json, core, golden, made, told

VERSIONS = golden()


def plain(value: object) -> object:
    """As JSON tells it."""
    return json.loads(msgspec.json.encode(value))


def ledger(version: Json) -> list[bytes]:
    """The stored bytes of its entries."""
    return [bytes.fromhex(entry) for entry in version["ledger"]]


def intake(version: Json) -> list[LogRecord]:
    """Its intake records."""
    return [
        LogRecord(
            TOPICS.intake[KIND_OF_WORD[one["kind"]]],
            0,
            one["offset"],
            one["append_ms"],
            bytes.fromhex(one["frame"]),
            tuple((name, bytes.fromhex(value)) for name, value in one["headers"]),
        )
        for one in version["intake"]
    ]


def test_every_released_version_has_golden_bytes_of_every_kind() -> None:
    assert VERSIONS.keys() == released().keys()
    for number, version in VERSIONS.items():
        assert {event["kind"] for event in version["events"]} == {
            kind.word for kind in released()[number]
        }


@pytest.mark.parametrize("number", VERSIONS)
def test_events_of_a_released_version_are_read_as_they_were(number: int) -> None:
    for event in VERSIONS[number]["events"]:
        read = Codec().decode(KIND_OF_WORD[event["kind"]], bytes.fromhex(event["frame"]))
        assert plain(read) == event["event"]


@pytest.mark.parametrize("number", VERSIONS)
def test_events_of_this_version_are_read_by_the_next_one(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every schema of the next version has a new field; the old ones are known as released."""
    after = tmp_path / "avro"
    shutil.copytree(writers.AVRO_DIR, after)
    for kind in Kind:
        schema = json.loads((after / f"{kind.word}.avsc").read_text())
        schema["fields"].insert(0, {"name": "new", "type": ["null", "string"], "default": None})
        (after / f"{kind.word}.avsc").write_text(json.dumps(schema))
    caches = (writers.known_writers, writers.current_schema, writers.fingerprint)
    monkeypatch.setattr(writers, "AVRO_DIR", after)
    try:
        for cached in caches:
            cached.cache_clear()
        test_events_of_a_released_version_are_read_as_they_were(number)
    finally:
        for cached in caches:
            cached.cache_clear()


@pytest.mark.parametrize("number", VERSIONS)
def test_a_ledger_of_a_released_version_folds_to_the_answers_it_gave(number: int) -> None:
    version, fresh = VERSIONS[number], core()
    fresh.log.append(TOPICS.ledger, 0, [(entry, ()) for entry in ledger(version)])
    fresh.vault.put(
        [(bytes.fromhex(key_id), bytes.fromhex(key)) for key_id, key in version["keys"].items()]
    )
    fresh.follower.catch_up()
    assert fresh.follower.checkpoint().count == len(version["ledger"])
    assert plain(told(fresh, ledger(version))) == version["told"]
    rebuilt = MemoryStore()
    fresh.follow(rebuilt).catch_up()
    assert dict(rebuilt.scan(b"")) == dict(fresh.store.scan(b""))


@pytest.mark.parametrize("number", VERSIONS)
def test_the_intake_of_a_released_version_is_decided_as_it_was(number: int) -> None:
    """By what the entries say; times, keys and hashes are another run's."""
    version, fresh = VERSIONS[number], core()
    for record in intake(version):
        fresh.admission.admit([record])
    entries = [record.value or b"" for record in fresh.log.read(TOPICS.ledger, 0, 0, 10_000)]
    now = plain(told(fresh, entries))
    assert isinstance(now, dict)
    for part in ("decisions", "facts", "values", "superseded", "episodes"):
        assert now[part] == version["told"][part]
    assert [parse_entry(entry).header.reason for entry in entries] == [
        parse_entry(entry).header.reason for entry in ledger(version)
    ]


def test_a_golden_file_says_what_this_code_says_of_the_newest_version() -> None:
    newest = VERSIONS[max(VERSIONS)]
    now = plain(made())
    assert isinstance(now, dict)
    assert now["events"] == newest["events"]
    assert now["told"]["decisions"] == newest["told"]["decisions"]
