"""The door on a real socket: its address, bodies refused over the wire, a graceful stop."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from gateway.http.examples import RECALL
from gateway.http.server import Server, bind, serve, url_of
from schemas.answers import Problem
from schemas.errors import Unavailable
from schemas.limits import REQUEST_BYTES
from tests.gateway.recorder import READERS_KEY, Door

KEY = {"Authorization": f"Bearer {READERS_KEY}"}


@contextmanager
def running(door: Door) -> Iterator[tuple[str, Server]]:
    """The door in a thread of its own, on a free port."""
    listener = bind("127.0.0.1", 0)
    listener.listen()
    server = Server(door.app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield url_of(listener), server
    finally:
        server.should_exit = True
        thread.join(30)
    assert not thread.is_alive()


def test_a_free_port_is_found_and_told(door: Door) -> None:
    with running(door) as (url, _):
        assert not url.endswith(":0")
        answer = httpx.get(url + "/healthz")
        assert answer.text == "ok\n"
        assert "server" not in answer.headers
        assert httpx.post(url + "/v1/recall", json=RECALL, headers=KEY).status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(url + "/healthz")


def test_a_body_refused_unread_does_not_lose_its_answer(door: Door) -> None:
    large, small = b"x" * (3 * REQUEST_BYTES), b"x" * (REQUEST_BYTES // 2)
    with running(door) as (url, _):
        for body, status in ((large, 413), (small, 401)):
            request = urllib.request.Request(url + "/v1/events", data=body)
            with pytest.raises(urllib.error.HTTPError) as refused:  # reads only once all is sent
                urllib.request.urlopen(request, timeout=30)
            with refused.value as refusal:
                assert Problem.model_validate_json(refusal.read()).status == status
        pieces = iter([b"x" * 1_048_576] * 10)
        answer = httpx.post(url + "/v1/events", content=pieces, headers=KEY)
        assert answer.status_code == 413
    assert door.port.asked == []


def test_what_is_in_flight_is_answered_before_the_server_stops(door: Door) -> None:
    entered, leave = threading.Event(), threading.Event()

    def held() -> None:
        entered.set()
        assert leave.wait(30)

    door.port.entered = held
    answers: list[httpx.Response] = []
    with running(door) as (url, server):

        def ask() -> None:
            answers.append(httpx.post(url + "/v1/recall", json=RECALL, headers=KEY, timeout=30))

        asking = threading.Thread(target=ask)
        asking.start()
        assert entered.wait(30)
        server.should_exit = True
        leave.set()
        asking.join(30)
    assert [answer.status_code for answer in answers] == [200]


def test_an_address_that_is_taken_or_no_address_says_what_to_type(door: Door) -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match="--port"):
            bind("127.0.0.1", port)
        with pytest.raises(Unavailable, match="--port"):
            bind("127.0.0.1", 65_536 + port)
    first, second = bind("127.0.0.1", 0), None
    with first:
        second = bind("127.0.0.1", first.getsockname()[1])
        first.listen()
        told: list[str] = []
        with second, pytest.raises(Unavailable, match="--port"):
            serve(door.app, second, told.append)
    assert told == []
