"""Every error is a problem document (RFC 9457) that says what to do and nothing internal."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from gateway import errors
from gateway.http.examples import RECALL, RELEASE, SCOPE
from schemas.errors import LedgerCorrupt, StoreDamaged, Unavailable, ViewBehind, invalid
from tests.gateway.recorder import OPERATORS_KEY, Door, problem

FAULTS = [
    (errors.Forbidden("not_granted", "no", "ask"), 403, "not_granted", {}),
    (errors.NotFound("unknown_event", "no", "look"), 404, "unknown_event", {}),
    (errors.Conflict("head_changed", "moved", "again"), 409, "head_changed", {}),
    (errors.TooLarge("too_many_events", "2", "less", limit="1"), 413, "too_many_events", {}),
    (errors.Unprocessable("foreign_token", "no", "other"), 422, "foreign_token", {}),
    (errors.TooMany("queue_full", "full", "wait", 7), 429, "queue_full", {"retry-after": "7"}),
    (errors.LedgerDamaged("ledger_damaged", "p", "verify"), 503, "ledger_damaged", {}),
    (invalid("wrong_type", "query", "no", "text"), 422, "wrong_type", {}),
    (ViewBehind("view of partition 1", "behind", "wait"), 503, "view_behind", {"retry-after": "1"}),
    (Unavailable("log", "broker away", "wait"), 503, "unavailable", {"retry-after": "1"}),
    (StoreDamaged("a row"), 503, "ledger_damaged", {}),
    (LedgerCorrupt(1, 7, "chain", "broken"), 503, "ledger_damaged", {}),
]


@pytest.mark.parametrize(("fault", "status", "code", "headers"), FAULTS)
def test_each_refusal_has_its_status_code_and_remedy(
    door: Door, fault: Exception, status: int, code: str, headers: dict[str, str]
) -> None:
    door.port.fault = fault
    answer = door.call("POST", "/v1/recall", json=RECALL)
    said = problem(answer, status)
    assert (said.code, said.type) == (code, f"urn:mnemolog:problem:{code}")
    assert said.remedy
    assert headers.items() <= dict(answer.headers).items()


def test_a_503_names_the_part(door: Door) -> None:
    door.port.fault = ViewBehind("view of partition 1", "behind", "wait")
    said = problem(door.call("POST", "/v1/release", json=RELEASE), 503)
    assert "view of partition 1" in said.detail
    door.port.problems = ["partition 2: chain", "the follower has stopped"]
    said = problem(door.client.get("/readyz"), 503)
    assert said.detail == "partition 2: chain; the follower has stopped"


def test_what_nobody_foresaw_is_a_500_whose_contents_go_nowhere(door: Door) -> None:
    door.port.fault = RuntimeError("alice lives in Berlin")
    with capture_logs() as logs:
        answer = door.call("POST", "/v1/recall", json=RECALL)
    assert problem(answer, 500).code == "internal_error"
    told = [entry for entry in logs if entry["event"] == "unexpected"]
    assert told[0]["error"] == "RuntimeError"
    assert told[0]["at"][-1].startswith("recorder.py:")
    for secret in ("Berlin", "alice", "where does", "mnemolog_reader"):
        assert secret not in answer.text
        assert secret not in str(logs)
    metrics = door.call("GET", "/metrics", OPERATORS_KEY).text
    assert 'mnemolog_http_requests_total{route="/v1/recall",status="500"} 1.0' in metrics


def test_a_503_is_logged_with_who_asked_and_where_and_no_contents(door: Door) -> None:
    door.port.fault = Unavailable("log", "broker away", "wait")
    with capture_logs() as logs:
        door.call("GET", "/v1/events/secret-id", params=SCOPE)
        door.call("GET", "/v1/nowhere/secret-id")
    (line,) = logs
    milliseconds = line.pop("milliseconds")
    assert milliseconds > 0
    assert line == {
        "event": "answered",
        "log_level": "warning",
        "method": "GET",
        "route": "/v1/events/{event_id:path}",
        "status": 503,
        "caller": "crm",
    }


def test_paths_and_methods_that_are_not_there(door: Door) -> None:
    for path in ("/", "/v1", "/v1/facts/", "/v1/recall/x", "/static/x.js", "/v1/nowhere"):
        assert problem(door.call("GET", path, follow_redirects=False), 404).code == "not_found"
    answer = door.call("DELETE", "/v1/facts")
    assert problem(answer, 405).code == "method_not_allowed"
    assert answer.headers["allow"] == "GET"
    assert door.port.asked == []


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nonsense", b"\xff", b"NaN", b"[]", b'"text"', b"null", b"7", b"[" * 10**6]
)
def test_a_body_that_is_no_such_object_is_422(door: Door, body: bytes) -> None:
    for path in ("/v1/recall", "/v1/release", "/v1/release/verify"):
        problem(door.call("POST", path, content=body), 422)
    assert door.port.asked == []


def test_answers_are_never_cached(door: Door) -> None:
    for answer in (
        door.call("POST", "/v1/recall", json=RECALL),
        door.call("GET", "/v1/facts", params=SCOPE),
        door.call("GET", "/v1/nowhere"),
    ):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
