"""Clients that are slow, or many, hold no more than their share and never stop the others."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from gateway.http.examples import OBSERVATION, RECALL
from schemas.answers import Problem
from tests.gateway.recorder import READERS_KEY, Door, problem
from tests.gateway.test_http_server import KEY, running

BODY_S = 0.5
BODY = json.dumps(RECALL).encode()


@contextmanager
def asking(url: str, *headers: str, key: str = READERS_KEY) -> Iterator[socket.socket]:
    """A connection whose request line and headers are sent."""
    lines = ["POST /v1/recall HTTP/1.1", "Host: door", f"Authorization: Bearer {key}"]
    with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), 30) as connection:
        connection.sendall("\r\n".join([*lines, *headers, "", ""]).encode())
        yield connection


def answer(connection: socket.socket) -> tuple[int, dict[str, Any], bytes]:
    """Status, body and what is left when the server has closed the connection."""
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    said, end = json.JSONDecoder().raw_decode(body.decode())
    return int(head.split()[1]), said, body[end:]


@pytest.mark.parametrize(
    ("header", "piece"),
    [
        (f"Content-Length: {len(BODY)}", BODY[:7]),
        (f"Content-Length: {len(BODY)}", b""),
        ("Transfer-Encoding: chunked", b"7\r\n" + BODY[:7] + b"\r\n"),
    ],
)
def test_a_body_that_does_not_come_is_408_and_the_connection_ends(
    header: str, piece: bytes
) -> None:
    door = Door(body_seconds=BODY_S)
    with running(door) as (url, _), asking(url, header) as connection:
        connection.sendall(piece)
        status, said, rest = answer(connection)
    assert (status, rest) == (408, b"")
    told = Problem.model_validate(said)
    assert (told.code, told.limit) == ("request_timeout", f"{BODY_S:g} s")
    assert told.remedy
    assert door.port.asked == []


def test_a_body_in_many_pieces_is_taken_while_it_comes_in_time() -> None:
    door = Door()
    with running(door) as (url, _):
        for header, pieces in (
            (f"Content-Length: {len(BODY)}", [bytes([byte]) for byte in BODY]),
            ("Transfer-Encoding: chunked", [*(b"1\r\n%c\r\n" % b for b in BODY), b"0\r\n\r\n"]),
        ):
            with asking(url, header, "Connection: close") as connection:
                for piece in pieces:
                    connection.sendall(piece)
                assert answer(connection)[0] == 200
    assert len(door.port.asked) == 2


def test_who_has_no_key_is_told_so_once_the_time_of_the_body_is_over() -> None:
    door = Door(body_seconds=BODY_S)
    with (
        running(door) as (url, _),
        asking(url, "Content-Length: 99", "Connection: close", key="x") as connection,
    ):
        status, said, rest = answer(connection)
    assert (status, said["code"], rest) == (401, "unknown_key", b"")


def test_connections_that_say_nothing_or_half_a_request_stop_nobody() -> None:
    door = Door()
    with running(door) as (url, _):
        place = ("127.0.0.1", urlsplit(url).port or 0)
        idle = [socket.create_connection(place, 30) for _ in range(50)]
        for connection in idle[::2]:
            connection.sendall(b"POST /v1/recall HTTP/1.1\r\nHost: do")
        assert httpx.post(url + "/v1/recall", json=RECALL, headers=KEY).status_code == 200
        for connection in idle:
            connection.close()


def test_publishers_take_half_of_the_room_and_readers_the_rest() -> None:
    door = Door(in_flight=4)
    entered, leave = threading.Semaphore(0), threading.Event()

    def held() -> None:
        entered.release()
        assert leave.wait(30)

    door.port.entered = held

    async def story() -> None:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=door.app), base_url="http://door", headers=KEY
        ) as client:
            calls = [
                asyncio.create_task(client.post("/v1/events", json=OBSERVATION)) for _ in range(2)
            ]
            for _ in calls:
                assert await asyncio.to_thread(entered.acquire, timeout=30)
            third = await client.post("/v1/events", json=OBSERVATION)
            assert problem(third, 429).limit == "2 at once"
            assert third.headers["retry-after"] == "1"
            calls += [asyncio.create_task(client.post("/v1/recall", json=RECALL)) for _ in range(2)]
            for _ in range(2):
                assert await asyncio.to_thread(entered.acquire, timeout=30)
            fifth = await client.post("/v1/recall", json=RECALL)
            assert problem(fifth, 429).limit == "4 at once"
            leave.set()
            assert {(await call).status_code for call in calls} == {200, 202}
            assert (await client.post("/v1/events", json=OBSERVATION)).status_code == 202

    asyncio.run(story())
