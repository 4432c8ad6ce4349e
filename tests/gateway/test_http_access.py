"""Who is let in, and what a scope may be; what is refused reaches nothing (case 31)."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.examples import ASSERTION, CLAIM, SCOPE
from schemas.limits import ID_BYTES
from tests.gateway.recorder import OPERATORS_KEY, REVOKED_KEY, Door, problem

LISTS = (
    "/v1/facts",
    "/v1/history",
    "/v1/conflicts",
    "/v1/episodes",
    "/v1/audit/facts",
    "/v1/audit/entries",
)
READS = (*LISTS, "/v1/head", "/v1/events/e1")
BODIES: dict[str, dict[str, Any]] = {
    "/v1/recall": {"query": "q"},
    "/v1/release": {"query": "q", "claims": [CLAIM]},
    "/v1/events": {k: v for k, v in ASSERTION.items() if k != "scope"},
}
ABSENT = object()


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer nobody", "Basic YTpi", f"Bearer {REVOKED_KEY}", "\xff"],
)
def test_without_a_known_key_nothing_is_looked_at(door: Door, header: str | None) -> None:
    headers = [] if header is None else [(b"authorization", header.encode("latin-1"))]
    for method, path in (
        ("POST", "/v1/recall"),
        ("POST", "/v1/events?wait=soon&x=1"),
        ("GET", "/v1/facts?tenant=*&tenant="),
        ("POST", "/v1/admin/replay"),
        ("GET", "/metrics"),
    ):
        answer = door.client.request(method, path, headers=headers, content=b"{not json")
        assert problem(answer, 401).code == "unknown_key"
        assert answer.headers["www-authenticate"] == "Bearer"
    assert door.port.asked == []


def test_health_and_readiness_are_open_and_metrics_are_not(door: Door) -> None:
    assert door.client.get("/healthz").text == "ok\n"
    assert door.client.get("/readyz").text == "ready\n"
    assert problem(door.call("GET", "/metrics"), 403).code == "not_granted"
    assert door.call("GET", "/metrics", OPERATORS_KEY).status_code == 200


@pytest.mark.parametrize("path", BODIES)
def test_a_body_whose_scope_is_not_whole_reaches_nothing(door: Door, path: str) -> None:
    wrong: tuple[object, ...] = (
        None,
        "",
        "*",
        ["acme", None],
        {},
        7,
        True,
        "a\0b",
        "x" * (ID_BYTES + 1),
    )
    for component in ("tenant", "namespace", "subject"):
        for value in (ABSENT, *wrong):
            scope: dict[str, Any] = {**SCOPE, component: value}
            if value is ABSENT:
                del scope[component]
            answer = door.call("POST", path, json={**BODIES[path], "scope": scope})
            field = problem(answer, 422).field
            assert field is not None
            assert field.startswith(f"scope.{component}")
    assert door.port.asked == []


@pytest.mark.parametrize("path", BODIES)
def test_a_body_without_a_scope_reaches_nothing(door: Door, path: str) -> None:
    for scope in (ABSENT, None, [], "acme", {}):
        body = BODIES[path] if scope is ABSENT else {**BODIES[path], "scope": scope}
        field = problem(door.call("POST", path, json=body), 422).field
        assert field is not None
        assert field.startswith("scope")
    assert door.port.asked == []


@pytest.mark.parametrize("path", READS)
def test_a_query_whose_scope_is_not_whole_reaches_nothing(door: Door, path: str) -> None:
    for component in (*SCOPE, "branch"):
        for value in ("", "*", "a\0b", "x" * (ID_BYTES + 1)):
            answer = door.call("GET", path, params={**SCOPE, component: value})
            assert problem(answer, 422).field == component
    for component in SCOPE:
        params = {name: value for name, value in SCOPE.items() if name != component}
        assert problem(door.call("GET", path, params=params), 422).field == component
    assert door.port.asked == []
    assert door.call("GET", path, params=SCOPE).status_code == 200
    assert door.port.asked[0][1].branch == "main"
