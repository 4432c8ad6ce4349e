"""The product's own processes: worker, Faust agents and gateway, as an operator runs them."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from mnemolog import Memory
from mnemolog.cluster import check_topics
from mnemolog.importing import Importing, run_import
from mnemolog.memory import ScopedMemory
from schemas.errors import ViewBehind
from schemas.principals import local_api_key
from tests.cluster.conftest import Cluster, until

pytestmark = pytest.mark.kafka
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TELLS_TIME_OR_PLACE = {
    "recorded_at",
    "token",
    "scope_hash",
    "hash",
    "trace_id",
    "mac",
    "next_cursor",
    "valid_at",
    "appended_at",
    "scope_sequence",
    "topic",
}


def connect(cluster: Cluster) -> Memory:
    """The cluster's gateway, as the operator of its data directory."""
    return Memory.connect(cluster.gateway(), local_api_key(cluster.master))


def test_the_faust_agents_time_out_a_parked_assertion(cluster: Cluster) -> None:
    (cluster.data / "policy.toml").write_text("parked_timeout_seconds = 1\n")
    cluster.process("worker")
    cluster.process("agents")
    with connect(cluster) as memory:
        alice = memory.scope("acme", "support", "alice")
        fact = alice.assert_fact("alice", "city", "Berlin", source="never", quote="Berlin")
        receipt = until(
            lambda: (
                alice.receipt(fact.event_id or "", "assertion")
                if decided(alice, fact.event_id or "")
                else None
            ),
            lambda seen: seen is not None and seen.state == "quarantined",
            60,
        )
        assert receipt is not None
        assert receipt.reason is not None
        assert receipt.reason.code == "timed_out"


def decided(alice: ScopedMemory, event_id: str) -> bool:
    """Whether the worker has come to it."""
    from gateway.errors import NotFound

    try:
        alice.receipt(event_id, "assertion")
    except NotFound:
        return False
    return True


def test_with_the_worker_stopped_an_acknowledged_retraction_is_never_outrun(
    cluster: Cluster,
) -> None:
    worker = cluster.process("worker")
    with connect(cluster) as memory:
        alice = memory.scope("acme", "support", "alice")
        seen = until(lambda: alice.observe("In Berlin."), lambda r: r.state == "accepted", 60)
        fact = alice.assert_fact("alice", "city", "Berlin", source=seen, quote="Berlin")
        claim = [("alice", "city", "Berlin", [fact.fact_id])]
        assert alice.release(claim).decision == "release"
        worker.send_signal(signal.SIGTERM)
        worker.wait(30)
        assert worker.returncode == 0
        assert (
            memory.door.publish_one(
                {"kind": "retraction", "scope": alice._scope, "fact_id": fact.fact_id}, 0
            ).state
            == "received"
        )
        with pytest.raises(ViewBehind):
            alice.release(claim)
        cluster.process("worker")
        until(lambda: outcome(alice, claim), lambda said: said == "abstain", 60)


def outcome(alice: ScopedMemory, claim: list[Any]) -> str:
    """The decision, or that the view is behind."""
    try:
        return alice.release(claim).decision
    except ViewBehind:
        return "behind"


def test_one_event_file_gives_the_same_answers_embedded_and_on_kafka(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    events = [json.loads(line) for line in (EXAMPLES / "events.jsonl").read_text().splitlines()]
    cluster.process("worker")
    (tmp_path / "embedded").mkdir()
    shutil.copy(cluster.data / "master.key", tmp_path / "embedded")  # records are keyed by it
    with connect(cluster) as there, Memory.open(tmp_path / "embedded") as here:
        until(
            lambda: there.scope("acme", "probe", "p").observe("there?"),
            lambda receipt: receipt.state == "accepted",
            60,
        )
        for memory in (here, there):  # receipts tell what had come by then, so they may differ
            assert all(r.state != "rejected" for r in memory.publish(events, wait=20))
        for kind, name in (("git", "garden-lights.bundle"), ("chatgpt", "conversations.json")):
            where = {"tenant": "t", "namespace": "n", "subject": kind, "branch": "main"}
            done = [
                run_import(Importing(kind, EXAMPLES / name, where, "garden"), memory.publish)
                for memory in (here, there)
            ]
            assert done[0].report.as_json() == done[1].report.as_json()
            assert done[0].refused == done[1].refused == []
        scopes = {tuple(event["scope"].values()) for event in events}
        for scope in (*scopes, ("t", "n", "git"), ("t", "n", "chatgpt")):
            assert answers_of(here.scope(*scope)) == answers_of(there.scope(*scope)), scope


def answers_of(scope: ScopedMemory) -> list[Any]:
    """Everything that can be asked of a scope."""
    facts = scope.facts(valid_at="any").items
    claims = sorted((fact.entity, fact.attribute, fact.value, [fact.fact_id]) for fact in facts)
    instant = "2026-11-01T00:00:00Z"
    entries = {(e.kind, e.event_id) for e in scope.audit_entries().items if e.event_id}
    return [sorted(entries)] + [
        plain(answer)
        for answer in (
            scope.facts(valid_at="any"),
            scope.conflicts(valid_at="any"),
            scope.episodes(),
            scope.audit_facts(valid_at=instant),
            scope.recall("what is the version and the license, alice?", valid_at=instant),
            scope.release(claims[:3], query="q", valid_at=instant),
        )
    ]


def plain(answer: Any) -> Any:
    """An answer without what tells time or place."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            kept = {k: strip(v) for k, v in value.items() if k not in TELLS_TIME_OR_PLACE}
            if "items" in kept:  # lists are in order of recording: a position
                kept["items"] = sorted(kept["items"], key=repr)
            return kept
        if isinstance(value, list):
            return [strip(item) for item in value]
        return value

    return strip(answer.model_dump(mode="json"))


def test_topics_check_and_doctor_say_what_is_wrong(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_topics(cluster.bootstrap) == []
    monkeypatch.setenv("MNEMOLOG_TOPIC_PREFIX", "absent-" + os.urandom(3).hex())
    worker = cluster.process("worker")
    out, _ = worker.communicate(timeout=60)
    assert worker.returncode == 3
    assert "mnemolog topics create" in json.loads(out)["detail"]
