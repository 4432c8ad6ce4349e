"""Group 10, met in running systems of this kind (SPEC §3, §5, §6, §10).

A receipt says what is so, on every route; both axes of time answer for themselves; an effect is
whole or not there. What is written at rest goes by `tests/tamper` (case 106) and `tests/crash`.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from gateway.errors import Forbidden, NotFound
from mnemolog.memory import ScopedMemory
from schemas.errors import ViewBehind
from schemas.kinds import Kind, Role, Tier
from tests.cli.conftest import Cli
from tests.field.conftest import Runtime, admitting_again
from tests.field.saying import Json, contested, stated, values
from tests.gateway.conftest import SCOPE, Http
from tests.runtime.conftest import Runtime as FreshRuntime

WORDS = ("zebracorn", "quillonia")
ROUTES = [
    ("GET", "/v1/facts"),
    ("GET", "/v1/history"),
    ("GET", "/v1/conflicts"),
    ("GET", "/v1/episodes"),
    ("GET", "/v1/audit/facts"),
    ("GET", "/v1/audit/entries"),
    ("GET", "/v1/head"),
    ("POST", "/v1/recall"),
    ("POST", "/v1/release"),
]


def ask(http: Http, method: str, path: str, who: str | None = "all", **more: Any) -> Any:
    """A call with a key, or with none."""
    scope = {**SCOPE, "branch": "main"}
    key = {"entity": "secret", "attribute": "word"} if path == "/v1/history" else {}
    claim: Json = {"entity": "secret", "attribute": "word", "value": "zebracorn", "facts": ["f1"]}
    bodies = {
        "/v1/recall": {"scope": scope, "query": "zebracorn quillonia", **more},
        "/v1/release": {"scope": scope, "query": "zebracorn", "claims": [claim], **more},
    }
    options: Json = (
        {"json": bodies[path]} if path in bodies else {"params": {**scope, **key, **more}}
    )
    if who is None:
        return http.client.request(method, path, **options)
    return http.call(method, path, who, **options)


@pytest.mark.parametrize("target", [{"observation": "o1"}, {"subject": True}])
def test_what_was_deleted_is_served_by_no_route_and_the_deletion_itself_holds_none_of_it(
    http: Http, target: Json
) -> None:
    """Case 101: nor to an auditor, of the past, at an old snapshot, or without a key."""
    said = {"kind": "observation", "event_id": "o1", "content": "it is zebracorn, of quillonia"}
    quote = {"observation": "o1", "quote": "zebracorn"}
    fact = {
        "kind": "assertion",
        "fact_id": "f1",
        "entity": "secret",
        "attribute": "word",
        "value": "zebracorn",
        "justifications": [{"premises": [quote]}],
    }
    receipts = http.publish(said, fact)
    before = ask(http, "GET", "/v1/facts").json()["snapshot"]["token"]
    shown = [ask(http, method, path).text for method, path in ROUTES]
    assert sum("zebracorn" in text for text in shown) >= 5
    (deleted,) = http.publish({"kind": "deletion", "event_id": "d1", "target": target})
    assert deleted["state"] == "accepted"
    past = receipts[-1]["entry"]["recorded_at"]
    options: list[Json] = [{}, {"recorded_at": past}, {"snapshot": before}]
    claimed = {"/v1/release"}  # which repeats what it was asked about
    for method, path in ROUTES:
        for more in options if "head" not in path and "entries" not in path else [{}]:
            answer = ask(http, method, path, **more)
            if "audit" in path and "snapshot" in more:
                continue
            assert answer.status_code == 200, (path, more, answer.text)
            assert path in claimed or not any(word in answer.text for word in WORDS), (path, more)
        answer = ask(http, method, path, who=None)
        assert answer.status_code == 401
    refused = ask(http, "POST", "/v1/release").json()
    assert (refused["decision"], refused["claims"][0]["reason"]) == ("abstain", "deleted")
    for path in ("/metrics", "/healthz", "/readyz", "/openapi.json"):
        answer = http.call("GET", path)
        assert not any(word in answer.text for word in WORDS), path
    backend = http.door.backend
    bodies = [
        msgspec.msgpack.encode(body)
        for partition in range(backend.partitions)
        for entry, body in backend.entries(partition)
        if entry.header.kind == Kind.DELETION
    ]
    assert len(bodies) == 1
    assert b"d1" in bodies[0]
    assert not any(word.encode() in bodies[0] for word in WORDS)


def test_exit_status_receipt_and_report_of_a_deletion_agree(cli: Cli) -> None:
    """Case 102: a whole subject."""
    with_one = json.dumps({"kind": "observation", "event_id": "o1", "content": "zebracorn"})
    assert cli.json("import", "jsonl", "/dev/stdin", stdin=with_one)["receipts"] == {"accepted": 1}
    done = cli.json("forget", "--subject")
    assert (done["state"], done["reason"]) == ("accepted", None)
    assert done["entry"]["scope_sequence"] is not None
    assert cli.json("episodes")["items"] == []


def test_who_may_not_delete_a_subject_is_refused_before_anything_is_touched(
    fresh: FreshRuntime,
) -> None:
    """Case 102: and a deletion that may not be, of one record, says so in its receipt."""
    alice = fresh.scope()
    kept = stated(alice, "alice", "city", "Berlin")
    guest = fresh.as_principal("guest", Tier.USER, Role.WRITER, Role.READER)
    before = alice.head()
    with pytest.raises(Forbidden):
        guest.forget(subject=True)
    with pytest.raises(Forbidden):
        guest.forget(scope=True)
    refused = guest.forget(fact=kept.fact_id)
    assert refused.reason is not None
    assert (refused.state, refused.reason.code) == ("rejected", "not_authorised")
    assert values(alice) == ["Berlin"]
    assert alice.head().scope_hash == before.scope_hash
    assert alice.release([("alice", "city", "Berlin", [kept.fact_id])]).decision == "release"


BEFORE, SPRING, SUMMER = "2025-01-01T00:00:00Z", "2025-03-01T00:00:00Z", "2025-06-01T00:00:00Z"


def _corners(scope: ScopedMemory, *recorded: str) -> list[list[list[str]]]:
    """The public values before, in and after spring, as recorded by each time and by now."""
    asked: list[Json] = [*({"recorded_at": time} for time in recorded), {}]
    return [
        [values(scope, valid_at=at, **more) for at in (BEFORE, SPRING, SUMMER)] for more in asked
    ]


def test_both_axes_answer_for_themselves_in_all_corners(runtime: Runtime) -> None:
    """Case 103: before and after a fact, its correction, a retraction, and a rebuild."""
    desk = runtime.scope()
    first = stated(desk, "desk", "room", "A", valid_from=SPRING)
    second = stated(desk, "desk", "room", "B", valid_from=SUMMER, supersedes=first.fact_id)
    other = stated(desk, "desk", "colour", "red", valid_from=SPRING)
    assert first.entry is not None
    assert second.entry is not None
    assert other.entry is not None
    earlier = first.entry.recorded_at[:-7] + "000000Z"
    times = (earlier, first.entry.recorded_at, second.entry.recorded_at, other.entry.recorded_at)
    expected: list[list[list[str]]] = [
        [[], [], []],
        [[], ["A"], ["A"]],
        [[], ["A"], ["B"]],
        [[], ["A", "red"], ["B", "red"]],
        [[], ["A", "red"], ["B", "red"]],
    ]
    assert _corners(desk, *times) == expected
    desk.retract(other.fact_id)
    expected[3] = expected[4] = expected[2]
    assert _corners(desk, *times) == expected
    desk.retract(second.fact_id)
    expected[1:] = [[[], ["A"], ["A"]]] * 4
    assert _corners(desk, *times) == expected
    runtime.rebuild()
    assert _corners(runtime.scope(), *times) == expected
    assert runtime.scope().facts(recorded_at=times[1]).snapshot.historical


def test_a_corrected_fact_is_deleted_as_a_whole_and_the_correction_stands(
    runtime: Runtime,
) -> None:
    """Case 104: sent again, it changes nothing; a crash in between: tests/crash."""
    hull = runtime.scope()
    old = stated(hull, "hull", "ballast", "sand", expires_at="2090-01-01T00:00:00Z")
    new = stated(hull, "hull", "ballast", "water", supersedes=old.fact_id)
    done = hull.forget(fact=old.fact_id, event_id="d1")
    assert done.state == "accepted"

    def told() -> object:
        scope = runtime.scope()
        claims = [
            scope.release([("hull", "ballast", value, [fact.fact_id])]).claims[0].reason
            for value, fact in (("sand", old), ("water", new))
        ]
        history = [(f.value, f.status) for f in scope.history("hull", "ballast").items]
        return values(scope), contested(scope), history, claims

    expected: Any = (["water"], [], [("water", "active")], ["deleted", None])
    assert told() == expected
    head = hull.head().scope_hash
    again = hull.forget(fact=old.fact_id, event_id="d1")
    assert (again.state, again.entry) == ("duplicate", done.entry)
    assert hull.head().scope_hash == head
    hull.forget(fact=old.fact_id)
    assert told() == expected
    runtime.rebuild()
    assert told() == expected


def test_a_deleted_correction_does_not_bring_back_what_it_corrected(runtime: Runtime) -> None:
    """Case 104, the other way round: never two current facts, never the wrong one."""
    hull = runtime.scope()
    old = stated(hull, "hull", "ballast", "sand")
    new = stated(hull, "hull", "ballast", "water", supersedes=old.fact_id)
    hull.forget(fact=new.fact_id)
    assert values(hull, valid_at="any") == []
    (left,) = hull.history("hull", "ballast").items
    assert (left.value, left.status, left.superseded_by) == ("sand", "superseded", "deleted")


def test_what_is_taken_but_not_admitted_has_a_receipt_and_is_admitted_later(
    fresh: FreshRuntime,
) -> None:
    """Case 107: two thousand writes; what waits for them says that it is behind."""
    alice = fresh.scope()
    alice.observe("before")
    fresh.stop_admission()
    fresh.door.application._wait = 0.2
    events = [
        {"kind": "observation", "scope": alice._scope, "event_id": f"e{n}", "content": f"no {n}"}
        for n in range(2_000)
    ]
    receipts = fresh.memory.publish(events, wait=0)
    assert {receipt.state for receipt in receipts} == {"received"}
    assert [receipt.event_id for receipt in receipts] == [event["event_id"] for event in events]
    tokens = {receipt.token for receipt in receipts}
    assert len(tokens) == 2_000
    assert None not in tokens
    with pytest.raises(ViewBehind):
        alice.recall("no", after=receipts[-1].token)
    with pytest.raises(NotFound, match="takes a moment"):
        alice.receipt("e1999")
    assert len(alice.audit_entries().items) == 1
    fresh.door.application._wait = 60
    with admitting_again(fresh):
        assert alice.recall("no", after=receipts[-1].token).status == "complete"
        assert alice.receipt("e1999").state == "accepted"
        assert alice.head().scope_sequence == 2_001
