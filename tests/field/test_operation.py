"""Group 6, operation on Kafka (SPEC §2, §3): bad records, dear events, sizes, transactions.

A worker passes whatever a topic holds, in bounded time, and says what it set apart. What needs a
broker of its own, a crash or a damaged store: tests/cluster, tests/crash, tests/storage.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from mnemolog import Memory
from schemas.kinds import Decision, Kind, Reason
from schemas.limits import CONTENT_BYTES, MEMBERS, PREMISES, QUOTES_BYTES, VALUE_BYTES
from tests.cluster.conftest import Cluster, until
from tests.field.conftest import Runtime
from tests.field.saying import Json, fault_of

POLL_LIMIT_S = 300
DECIDED = {
    "observation": ["accepted"],
    "assertion": ["rejected", "quarantined"],
    "outcome": ["evidence_only"],
    "workingset": ["accepted"],
}


@pytest.mark.kafka
def test_what_cannot_be_read_is_set_apart_in_its_place_and_the_last_one_is_processed(
    cluster: Cluster,
) -> None:
    """Case 56: valid, 0x30…, an unknown schema id, no value, valid; and a worker that goes on."""
    cluster.publish({"kind": "observation", "event_id": "first", "content": "hello"})
    for raw in (b"\x30garbage", b"\x00\x00\x00\x27\x0fx", None):
        for partition in (0, 1):
            cluster.send(raw, partition=partition)
    cluster.publish({"kind": "observation", "event_id": "last", "content": "hello"})
    cluster.worker()
    entries = cluster.await_entries(8)
    accepted = [e for e in entries if e.header.decision == Decision.ACCEPTED]
    apart = [e.header for e in entries if e.header.decision == Decision.DEAD_LETTERED]
    assert len(accepted) == 2
    assert [Reason(header.reason) for header in apart] == 2 * [
        Reason.UNDECODABLE,
        Reason.UNKNOWN_SCHEMA,
        Reason.NULL_VALUE,
    ]

    def told() -> list[Json]:
        return [
            json.loads(record.value or b"")
            for partition in (0, 1)
            for record in cluster.records(cluster.topics.rejections, partition)
        ]

    rejections = until(told, lambda found: len(found) == 6)
    topic = cluster.topics.intake[Kind.OBSERVATION]
    assert [(r["topic"], r["partition"], r["offset"]) for r in rejections] == [
        (topic, header.partition, header.offset) for header in apart
    ]
    assert all(rejection["code"] and rejection["remedy"] for rejection in rejections)


def _dear() -> list[Json]:
    """Events that fill their limits with what is dearest to look at."""
    letters = "a" * CONTENT_BYTES
    quotes = [letters[: QUOTES_BYTES // PREMISES - 1] + end for end in ("a", "b")]
    contents = {
        "letters": letters,
        "lines": "\n" * (CONTENT_BYTES - 9) + "x system:",
        "blanks": " " * (CONTENT_BYTES - 9) + "x system:",
        "secrets": ("password " + " " * 90) * (CONTENT_BYTES // 100),
        "marks": "a" + "\u0301" * (CONTENT_BYTES // 2 - 1),
        "han": "\u8239" * (CONTENT_BYTES // 3),
        "thai": "\u0e01\u0e48" * (CONTENT_BYTES // 6),
        "joined": "a-" * (CONTENT_BYTES // 2),
    }
    observations: list[Json] = [
        {"kind": "observation", "event_id": name, "content": text}
        for name, text in contents.items()
    ]
    assertions: list[Json] = [
        {
            "kind": "assertion",
            "fact_id": f"f{number}",
            "entity": "\u212b" * 300,
            "attribute": "e" + "\u0301" * 30,
            "value": "\u1e9e" * (VALUE_BYTES // 3),
            "justifications": [
                {"premises": [{"observation": "letters", "quote": quote}]} for _ in range(PREMISES)
            ],
        }
        for number, quote in enumerate(quotes)
    ]
    deep: Any = "x"
    for _ in range(15):
        deep = {"a": [deep], "b": "\u0301" * 1_000}
    others: list[Json] = [
        {"kind": "outcome", "record_id": "r", "payload": {"deep": deep, "wide": [0] * 200_000}},
        {
            "kind": "workingset",
            "workingset_id": "w",
            "task": "t",
            "members": [f"{'m' * 250}{number}" for number in range(MEMBERS)],
            "expires_at": "2090-01-01T00:00:00Z",
        },
    ]
    return [*observations, *assertions, *others]


def test_the_dearest_events_are_decided_in_a_small_part_of_the_poll_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 57: no event holds up its partition, so that none is passed round the group."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Memory.open(tmp_path / "data") as memory:
        alice = memory.scope("acme", "support", "alice")
        for event in _dear():
            began = time.process_time()
            (receipt,) = memory.publish([{**event, "scope": alice._scope}], wait=30)
            spent = time.process_time() - began
            assert receipt.state in DECIDED[event["kind"]], receipt
            assert spent < POLL_LIMIT_S / 20, (event.get("event_id"), event["kind"], spent)
        assert alice.recall("ship").status == "insufficient_evidence"


def test_an_event_over_its_limit_is_refused_at_the_door_with_size_and_limit(
    runtime: Runtime,
) -> None:
    """Case 58: 1.2 MiB; the worker never sees it, and the next event is admitted."""
    alice = runtime.scope()
    size = CONTENT_BYTES * 12 // 10
    fault = fault_of(alice.observe, "x" * size)
    assert (fault.code, fault.field, fault.limit) == (
        "too_long",
        "content",
        f"{CONTENT_BYTES} bytes",
    )
    assert f"{size} bytes" in fault.detail
    for _ in range(3):
        assert alice.observe("y" * CONTENT_BYTES).state == "accepted"
    assert len(alice.episodes().items) == 3
