"""Group 5, duplicates, order and replay (SPEC §2 order independence, §3 idempotency).

An event counts once however often and from wherever it is sent; what forbids a record is kept until
the record comes; ids are compared whole; and a rebuild reads the ledger alone, never a clock.
"""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from mnemolog import Memory
from schemas import answers
from schemas.scope import Scope
from schemas.sealing import Hasher
from tests.field.conftest import Runtime
from tests.field.saying import stated, values


def test_an_event_sent_again_after_a_time_out_is_the_same_entry(runtime: Runtime) -> None:
    """Case 41."""
    alice = runtime.scope()
    event = {"kind": "observation", "scope": alice._scope, "event_id": "e1", "content": "hello"}
    (unanswered,) = runtime.memory.publish([event], wait=0)
    (again,) = runtime.memory.publish([event], wait=20)
    first = alice.receipt("e1")
    head = alice.head().scope_sequence
    assert unanswered.state in ("received", "accepted")
    assert (again.state, first.state) == ("duplicate", "accepted")
    assert (again.entry, again.token) == (first.entry, first.token)
    assert len(alice.episodes().items) == 1
    assert alice.head().scope_sequence == head


def test_a_client_that_gives_a_retry_a_new_id_says_so_by_its_key(runtime: Runtime) -> None:
    """Case 41: the same content under a new event id adds no source and no weight."""
    alice = runtime.scope()
    fields: dict[str, Any] = {"idempotency_key": "order-7", "occurred_at": "2025-01-01T00:00:00Z"}
    first = alice.observe("Berlin", event_id="e1", **fields)
    again = alice.observe("Berlin", event_id="e2", **fields)
    assert (again.state, again.entry) == ("duplicate", first.entry)
    assert [episode.event_id for episode in alice.episodes().items] == ["e1"]
    fact = alice.assert_fact("alice", "city", "Berlin", source=first, quote="Berlin", fact_id="f1")
    before = alice.facts().items
    waits = alice.assert_fact("alice", "city", "Bonn", source="e2", quote="Berlin")
    assert (fact.state, waits.state) == ("accepted", "parked")
    assert alice.facts().items == before


def test_the_same_event_from_several_workers_at_once_is_one_record(runtime: Runtime) -> None:
    """Case 42: and later repeats leave it as it is."""
    alice = runtime.scope()
    event = {"kind": "observation", "scope": alice._scope, "event_id": "e1", "content": "hello"}
    receipts: list[answers.Receipt] = []
    start = threading.Barrier(6)

    def send() -> None:
        start.wait()
        receipts.extend(runtime.memory.publish([event], wait=20))

    senders = [threading.Thread(target=send) for _ in range(6)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    for _ in range(3):
        receipts += runtime.memory.publish([event], wait=20)
    assert sorted(receipt.state for receipt in receipts) == ["accepted"] + ["duplicate"] * 8
    assert len({receipt.entry.hash for receipt in receipts if receipt.entry}) == 1
    (episode,) = alice.episodes().items
    assert (episode.event_id, episode.content) == ("e1", "hello")


@pytest.mark.parametrize("first", ["retraction", "deletion"])
def test_what_was_forbidden_before_it_came_never_lives_however_often_it_is_sent(
    runtime: Runtime, first: str
) -> None:
    """Case 45."""
    scope = runtime.scope()
    if first == "retraction":
        assert scope.retract("A9").state == "parked"
    else:
        assert scope.forget(fact="A9").state == "parked"
    seen = scope.observe("Berlin", event_id="o1")
    for event_id, key in (("a", "a"), ("a", "a"), ("b", "a"), ("c", "c")):
        said = scope.assert_fact(
            "alice",
            "city",
            "Berlin",
            source=seen,
            quote="Berlin",
            fact_id="A9",
            event_id=event_id,
            idempotency_key=key,
            occurred_at="2025-01-01T00:00:00Z",
        )
        assert said.state in ("accepted", "covered", "duplicate", "rejected")
        assert values(scope, valid_at="any") == []
        assert scope.history("alice", "city").items == ()
        reason = scope.release([("alice", "city", "Berlin", ["A9"])]).claims[0].reason
        assert reason == ("retracted" if first == "retraction" else "deleted")
    runtime.rebuild()
    assert values(runtime.scope(), valid_at="any") == []


def test_a_deleted_source_is_not_revived_by_sending_it_again(runtime: Runtime) -> None:
    """Case 45."""
    scope = runtime.scope()
    event = {"kind": "observation", "scope": scope._scope, "event_id": "o1", "content": "secret"}
    runtime.memory.publish([event], wait=20)
    scope.forget(observation="o1")
    receipts = runtime.memory.publish([event, {**event, "idempotency_key": "new"}], wait=20)
    assert receipts[0].state == "duplicate"
    assert receipts[1].state in ("covered", "rejected")
    assert scope.episodes().items == ()
    assert scope.recall("secret").results == ()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _twins() -> tuple[str, str]:
    """Two ids whose SHA-256 begin with the same 8 hex digits (32 bits)."""
    met: dict[str, str] = {}
    for number in range(1_000_000):
        name = f"item-{number}"
        other = met.setdefault(_digest(name)[:8], name)
        if other != name:
            return other, name
    raise AssertionError("no two of a million met")


def test_ids_that_agree_in_any_short_form_are_two_records(runtime: Runtime) -> None:
    """Case 46: equal in 32 bits of their hash, in the first 8 hex digits, in all but the end."""
    scope = runtime.scope()
    pairs = [
        _twins(),
        ("deadbeef-0000-7000-8000-000000000001", "deadbeef-0000-7000-8000-000000000002"),
        ("x" * 255 + "1", "x" * 255 + "2"),
        ("1", "01"),
    ]
    for pair in pairs:
        for name in pair:
            assert scope.observe(f"this is {name}", event_id=name).state == "accepted"
            stated(scope, name, "kind", "thing", fact_id=name)
    for one, other in pairs:
        taken = scope.observe("something else", event_id=one, idempotency_key=f"again {one[-9:]}")
        assert taken.reason is not None
        assert taken.reason.code == "id_taken"
        scope.forget(fact=one)
        assert scope.facts(entity=one).items == ()
        assert [fact.fact_id for fact in scope.facts(entity=other).items] == [other]
        assert scope.receipt(one, "observation").state == "accepted"


def test_a_hundred_thousand_ids_have_a_hundred_thousand_keys() -> None:
    """Case 46: 128 bits, so that none meet."""
    hasher = Hasher(bytes(32))
    scope = hasher.scope(Scope("acme", "support", "alice"))
    keys = {hasher.observation(scope, f"item-{number}") for number in range(100_000)}
    assert len(keys) == 100_000
    assert {len(key) for key in keys} == {16}


def _rows(memory: Memory) -> list[list[tuple[bytes, bytes]]]:
    """Every row of every projection."""
    parts = memory.door.backend._parts  # type: ignore[attr-defined]
    return [list(part.follower.store.scan(b"")) for part in parts]


def _settle(memory: Memory) -> None:
    """Let what is due by the clock become an entry, and nothing be under way any more."""
    backend = memory.door.backend  # type: ignore[attr-defined]
    backend._stop.set()
    for thread in backend._threads:
        thread.join()
    backend._stop = threading.Event()
    while backend.run_schedule() + backend.admit_once():
        pass


def test_a_rebuild_decides_as_it_was_decided_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 47: an assertion that expired long ago, rebuilt today and under other clocks."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    data = tmp_path / "data"
    with Memory.open(data) as memory:
        alice = memory.scope("acme", "support", "alice")
        times = {"valid_from": "2024-12-01T00:00:00Z", "expires_at": "2025-01-01T00:00:00Z"}
        stated(alice, "alice", "city", "Berlin", fact_id="f1", **times)
        alice.retract("waits for a fact")
        _settle(memory)
        (period,) = alice.history("alice", "city").items
        assert period.status == "expired"
        head, rows = alice.head().scope_hash, _rows(memory)
    real = time.time_ns
    for years in (0, 40, -50):
        shift = years * 365 * 86_400 * 10**9
        monkeypatch.setattr(time, "time_ns", lambda shift=shift: real() + shift)
        with Memory.open(data, create=False) as memory:
            memory.replay()
            alice = memory.scope("acme", "support", "alice")
            assert _rows(memory) == rows
            assert alice.head().scope_hash == head
            assert values(alice, valid_at="2024-12-15T00:00:00Z") == ["Berlin"]
            assert values(alice, valid_at="2025-01-01T00:00:00Z") == []
            assert memory.verify(deep=True).ok
