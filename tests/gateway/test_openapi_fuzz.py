"""Requests made from the OpenAPI document: no 5xx, no undocumented status, shape or media type.

Every call of the document, as it says and in every way that it does not say; every method that it
does not have; headers that no client should send.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from gateway.http.examples import EVENTS, SCOPE
from schemas.answers import Problem
from tests.gateway.conftest import Http
from tests.gateway.recorder import READERS_KEY, Door
from tests.gateway.test_http_document import CALLS
from tests.gateway.test_http_server import running

CHECKS = [response_schema_conformance, content_type_conformance]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE", "QUERY")
SEED = 20260501
EXAMPLES = {GenerationMode.POSITIVE: 20, GenerationMode.NEGATIVE: 20}
SLOW_CALLS = {"verify", "replay"}  # each reads or rebuilds everything


@pytest.fixture
def told(http: Http) -> Http:
    """A door whose memory holds the document's examples."""
    http.call("POST", "/v1/events?wait=5", json=EVENTS["several, in order"]["value"])
    return http


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(EXAMPLES))
def test_no_request_from_the_document_breaks_the_door(told: Http, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", told.client.app)
    headers = {"Authorization": f"Bearer {told.keys['all']}"}
    asked = set()
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]
        asked.add((operation.method, operation.path))
        probe(operation, headers, mode)
    assert asked == set(CALLS)
    assert told.client.get("/readyz").status_code == 200
    subject = {**SCOPE, "subject": "after all that"}
    event = {"kind": "observation", "event_id": "e", "content": "still here", "scope": subject}
    assert told.publish(event)[0]["state"] == "accepted"
    assert told.door.verify(deep=True).ok


def probe(operation: Any, headers: dict[str, str], mode: GenerationMode) -> None:
    """Call one operation with generated requests."""
    raw = operation.definition.raw
    documented = {str(status) for status in raw["responses"]}
    if mode is GenerationMode.NEGATIVE and not ({"requestBody", "parameters"} & set(raw)):
        return  # nothing that could be wrong
    examples = 3 if raw["operationId"] in SLOW_CALLS else EXAMPLES[mode]

    @seed(SEED)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def call(case: Any) -> None:
        if case.method != operation.method.upper():
            return  # another method: the test below
        response = case.call(headers={**(case.headers or {}), **headers})
        assert response.status_code < 500, (case.path, response.status_code, response.text)
        assert str(response.status_code) in documented, (case.path, response.status_code)
        case.validate_response(response, checks=CHECKS)

    call()


def test_every_method_that_a_path_does_not_have_is_405_with_those_it_has(door: Door) -> None:
    paths: dict[str, set[str]] = {}
    for method, path in CALLS:
        paths.setdefault(path.replace("{event_id}", "e1"), set()).add(method.upper())
    for path, has in paths.items():
        for method in set(METHODS) - has:
            answer = door.call(method, path)
            assert answer.status_code == 405, (method, path)
            # /v1/events of POST stands beside the receipts' route of GET
            assert set(answer.headers["allow"].split(", ")) <= {"GET", "POST"}
            if method != "HEAD":
                assert Problem.model_validate(answer.json()).code == "method_not_allowed"
    assert door.port.asked == []


def lines() -> Iterator[bytes]:
    """Headers that no client should send."""
    dice = random.Random(SEED)
    for name in (b"Authorization", b"Content-Type", b"Accept", b"Cookie", b"Range", b"X"):
        for _ in range(4):
            yield name + b": " + bytes(dice.choice(range(33, 256)) for _ in range(40))
    yield b"Authorization: Bearer"
    yield b"Authorization: Bearer " + b"x" * 8_000
    yield b"Authorization: Basic eDp5"
    yield b"Accept: image/png"
    yield b"Accept-Encoding: *;q=0"
    yield b"Content-Type: application/json; charset=utf-7"
    yield b"If-Match: *"
    yield b"Range: bytes=0-1"
    yield b"X-HTTP-Method-Override: DELETE"
    yield b"X-Forwarded-For: 127.0.0.1"
    yield b"Content-Length: 5"
    yield b"Content-Length: 05"
    yield b"Content-Length: -1"
    yield b"Content-Length: +2"
    yield b"Content-Length: 1e1"
    yield b"Content-Length: 99999999999999999999"
    yield b"Transfer-Encoding: gzip, chunked"
    yield b"Transfer-Encoding: chunked\r\nContent-Length: 2"
    yield b"Expect: 100-continue"
    yield b"Upgrade: h2c\r\nConnection: Upgrade"
    yield b"Bad Name: x"
    yield b": x"
    yield b"Name\0: x"


def test_no_header_breaks_the_door() -> None:
    """Over a socket, where nothing tidies them; HTTP that is none is 400 by the server itself."""
    door = Door(body_seconds=0.2)
    with running(door) as (url, _):
        port = int(url.rsplit(":", 1)[1])
        for line in lines():
            for method, path in (("GET", b"/v1/head"), ("POST", b"/v1/recall")):
                request = [method.encode() + b" " + path + b" HTTP/1.1", b"Host: door", line]
                if not line.startswith(b"Authorization"):
                    request.append(b"Authorization: Bearer " + READERS_KEY.encode())
                request += [b"Connection: close", b"", b""]
                status = said(port, b"\r\n".join(request))
                assert status in (400, 401, 408, 413, 422), (line, status)
    assert door.port.asked == []


def said(port: int, request: bytes) -> int:
    """The status of whatever is answered until the connection ends."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(request)
        received = b""
        while piece := connection.recv(65_536):
            received += piece
    return int(received.rpartition(b"HTTP/1.1 ")[2][:3])  # an interim answer may come before
