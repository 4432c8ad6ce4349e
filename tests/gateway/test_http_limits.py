"""Limits are told by the error that meets them, with the size that met them (cases 58, 81)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator

import httpx
import pytest

from gateway.http.examples import CLAIM, OBSERVATION, RECALL, RELEASE, SCOPE
from schemas.limits import (
    CLAIMS,
    CONTENT_BYTES,
    QUERY_BYTES,
    REQUEST_BYTES,
    REQUEST_EVENTS,
    RESULTS,
)
from tests.gateway.recorder import OPERATORS_KEY, READERS_KEY, Door, problem
from tests.gateway.test_http_access import LISTS


def test_an_event_that_is_too_large_is_refused_with_its_size_and_the_limit(door: Door) -> None:
    size = CONTENT_BYTES * 6 // 5
    large = {**OBSERVATION, "content": "x" * size}
    said = problem(door.call("POST", "/v1/events", json=large), 422)
    assert (said.code, said.field, said.limit) == ("too_long", "content", f"{CONTENT_BYTES} bytes")
    assert str(size) in said.detail
    wide = {**OBSERVATION, "content": "é" * (CONTENT_BYTES // 2 + 1)}
    assert str(CONTENT_BYTES + 2) in problem(door.call("POST", "/v1/events", json=wide), 422).detail
    assert door.port.asked == []
    receipts = door.call("POST", "/v1/events", json=[large, OBSERVATION]).json()["receipts"]
    assert [receipt["state"] for receipt in receipts] == ["rejected", "accepted"]
    assert str(size) in receipts[0]["reason"]["detail"]
    whole = {**OBSERVATION, "content": "x" * CONTENT_BYTES}
    assert door.call("POST", "/v1/events", json=whole).status_code == 202


def test_a_request_that_is_too_large_is_413_before_it_is_read(door: Door) -> None:
    size = REQUEST_BYTES + 1
    said = problem(door.call("POST", "/v1/events", content=b"x" * size), 413)
    assert (said.code, said.limit) == ("request_too_large", f"{REQUEST_BYTES} bytes")
    assert str(size) in said.detail
    answer = door.call("POST", "/v1/recall", content=chunks(size))
    assert problem(answer, 413).limit == f"{REQUEST_BYTES} bytes"
    assert door.port.asked == []
    padded = json.dumps(RECALL).encode()
    exact = padded + b" " * (REQUEST_BYTES - len(padded))
    assert door.call("POST", "/v1/recall", content=exact).status_code == 200


def chunks(size: int) -> Iterator[bytes]:
    """A body whose length nobody declared."""
    for _ in range(0, size, 65_536):
        yield b"x" * 65_536


def test_too_many_events_are_413_with_their_number(door: Door) -> None:
    for media, body in (
        ("application/json", b"[" + b",".join([b"7"] * (REQUEST_EVENTS + 1)) + b"]"),
        ("application/x-ndjson", b"7\n" * (REQUEST_EVENTS + 1)),
    ):
        answer = door.call("POST", "/v1/events", content=body, headers={"content-type": media})
        said = problem(answer, 413)
        assert (said.code, said.limit) == ("too_many_events", str(REQUEST_EVENTS))
        assert str(REQUEST_EVENTS + 1) in said.detail
    assert door.port.asked == []


@pytest.mark.parametrize("limit", [RESULTS + 1, 5_000, 0, -1])
def test_a_list_is_never_silently_capped(door: Door, limit: int) -> None:
    bound = str(RESULTS) if limit > 0 else "1"
    for path in LISTS:
        params = {**SCOPE, "limit": str(limit)}
        said = problem(door.call("GET", path, params=params), 422)
        assert (said.code, said.field, said.limit) == ("out_of_range", "limit", bound)
    said = problem(door.call("POST", "/v1/recall", json={**RECALL, "limit": limit}), 422)
    assert (said.field, said.limit) == ("limit", bound)
    for wrong in ("ten", "1.5", "", "1e3"):
        params = {**SCOPE, "limit": wrong}
        assert problem(door.call("GET", "/v1/facts", params=params), 422).field == "limit"
    assert door.port.asked == []
    door.call("GET", "/v1/facts", params={**SCOPE, "limit": str(RESULTS)})
    assert door.port.asked[0][2].limit == RESULTS


def test_a_query_and_its_claims_are_bounded(door: Door) -> None:
    for path, body in (("/v1/recall", RECALL), ("/v1/release", RELEASE)):
        long = {**body, "query": "x" * (QUERY_BYTES + 1)}
        said = problem(door.call("POST", path, json=long), 422)
        assert (said.field, said.limit) == ("query", f"{QUERY_BYTES} bytes")
    many = {**RELEASE, "claims": [CLAIM] * (CLAIMS + 1)}
    said = problem(door.call("POST", "/v1/release", json=many), 422)
    assert (said.field, said.limit) == ("claims", str(CLAIMS))
    assert str(CLAIMS + 1) in said.detail
    assert door.port.asked == []


def test_more_calls_at_once_than_the_bound_are_429_and_health_goes_on() -> None:
    door = Door(in_flight=1)
    entered, leave = threading.Event(), threading.Event()

    def held() -> None:
        entered.set()
        assert leave.wait(30)

    door.port.entered = held

    async def story() -> None:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=door.app),
            base_url="http://door",
            headers={"Authorization": f"Bearer {READERS_KEY}"},
        ) as client:
            first = asyncio.create_task(client.post("/v1/recall", json=RECALL))
            assert await asyncio.to_thread(entered.wait, 30)
            second = await client.get("/v1/head", params=SCOPE)
            assert problem(second, 429).limit == "1 at once"
            assert second.headers["retry-after"] == "1"
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/readyz")).status_code == 200
            operator = {"Authorization": f"Bearer {OPERATORS_KEY}"}
            assert 'status="429"' in (await client.get("/metrics", headers=operator)).text
            leave.set()
            assert (await first).status_code == 200
            door.port.entered = lambda: None
            assert (await client.get("/v1/head", params=SCOPE)).status_code == 200

    asyncio.run(story())
