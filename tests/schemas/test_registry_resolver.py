"""The schema registry's client (ARCHITECTURE "Formats"): by id; away is not unknown."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from schemas.codec import Codec
from schemas.errors import Unavailable, Undecodable
from schemas.events import Actor, Envelope, Retraction
from schemas.kinds import Kind
from schemas.registry_resolver import ConfluentResolver
from schemas.scope import Scope
from schemas.topics import TopicNames
from schemas.writers import schema_text

RETRACTION = Retraction(
    Envelope("e1", Scope("T", "n", "S"), "crm", Actor("a", "tool"), "p", 5, "k", ()), "f1", "no"
)


class Registry(HTTPServer):
    """The two calls that are used, as Confluent's API answers them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.schemas: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.broken = False

    @property
    def url(self) -> str:
        return f"http://user:password@127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        number = int(self.path.split("?")[0].rsplit("/", 1)[1])
        if self.server.broken:
            self.answer(404, {"error_code": 404, "message": "HTTP 404 Not Found"})
        elif number <= len(self.server.schemas):
            self.answer(200, self.server.schemas[number - 1])
        else:
            self.answer(404, {"error_code": 40403, "message": "Schema not found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.broken:
            self.answer(409, {"error_code": 409, "message": "incompatible"})
            return
        self.server.schemas.append(body)
        self.answer(200, {"id": len(self.server.schemas)} | body)

    def answer(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def resolver(registry: Registry) -> ConfluentResolver:
    return ConfluentResolver({"url": registry.url, "max.retries": 0, "timeout": 5})


def test_events_go_through_a_registry_and_a_schema_is_fetched_once(registry: Registry) -> None:
    names = TopicNames()
    subjects = {kind: f"{topic}-value" for kind, topic in names.intake.items()}
    writing = resolver(registry)
    data = Codec(writing, writing.register(subjects)).encode(Kind.RETRACTION, RETRACTION)
    assert data[:5] == b"\x00" + int(Kind.RETRACTION).to_bytes(4, "big")
    reading = Codec(resolver(registry))
    for _ in range(3):
        assert reading.decode(Kind.RETRACTION, data) == RETRACTION
    assert len(registry.asked) == 1


@pytest.mark.parametrize(
    "registered",
    [
        [],
        [{"schema": '{"type": "object"}', "schemaType": "JSON"}],
        [
            {
                "schema": schema_text(Kind.RETRACTION),
                "schemaType": "AVRO",
                "references": [{"name": "x", "subject": "x", "version": 1}],
            }
        ],
    ],
)
def test_what_is_no_whole_avro_schema_is_unknown(
    registry: Registry, registered: list[dict[str, Any]]
) -> None:
    registry.schemas = registered
    with pytest.raises(Undecodable) as caught:
        Codec(resolver(registry)).decode(Kind.RETRACTION, b"\x00\x00\x00\x00\x01rest")
    assert caught.value.code == "unknown_schema"


def test_a_wrong_url_or_a_refusal_is_no_unknown_schema(registry: Registry) -> None:
    registry.broken = True
    with pytest.raises(Unavailable, match="URL"):
        resolver(registry).schema(1)
    with pytest.raises(Unavailable, match="incompatible"):
        resolver(registry).register({Kind.GRANT: "grants-value"})


def test_a_registry_that_is_away_is_unavailable() -> None:
    with Registry() as closed:
        away = resolver(closed)
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1") as caught:
        Codec(away).decode(Kind.RETRACTION, b"\x00\x00\x00\x00\x01rest")
    assert caught.value.part == "schema registry"
    assert "password" not in str(caught.value)
