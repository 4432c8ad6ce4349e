"""A broker that does not answer: what waits for it is bounded, and publishing ends in time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from producers.builder import EventBuilder
from producers.kafka import KafkaPublisher
from schemas.errors import Unavailable
from schemas.events import Event
from schemas.kinds import Kind
from schemas.scope import Scope
from schemas.signing import HmacSigner
from schemas.topics import TopicNames

WAITING = 20
TIMEOUT = 5.0
BUILDER = EventBuilder("crm", Scope("acme", "support", "alice"))


@pytest.fixture
def away() -> Iterator[str]:
    """An address where nobody speaks Kafka: connections are taken and never answered."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def publisher(away: str) -> KafkaPublisher:
    """A publisher with little room."""
    signer = HmacSigner("crm", b"s" * 32)
    settings = {"bootstrap.servers": away}
    return KafkaPublisher(settings, TopicNames(), signer, 1, timeout=TIMEOUT, waiting=WAITING)


def events(count: int) -> list[tuple[Kind, Event]]:
    """So many observations."""
    return [BUILDER.observation(f"note {n}") for n in range(count)]


def test_what_finds_no_room_is_refused_at_once_and_none_of_it_is_sent(
    publisher: KafkaPublisher,
) -> None:
    first: list[Unavailable] = []

    def publish() -> None:
        try:
            publisher.publish(events(WAITING - 5))
        except Unavailable as error:
            first.append(error)

    waiting = threading.Thread(target=publish)
    began = time.monotonic()
    waiting.start()
    while len(publisher._producer) < WAITING - 5:
        assert waiting.is_alive()
    with pytest.raises(Unavailable, match=f"limit is {WAITING}") as full:
        publisher.publish(events(6))
    assert time.monotonic() - began < TIMEOUT
    assert "none of them was sent" in full.value.remedy
    assert len(publisher._producer) <= WAITING
    waiting.join()
    assert "duplicate" in first[0].remedy


def test_more_events_than_fit_end_within_the_time_and_never_grow_beyond_the_bound(
    publisher: KafkaPublisher,
) -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable, match="broker"):
        publisher.publish(events(10 * WAITING))
    assert time.monotonic() - began < 3 * TIMEOUT
    assert len(publisher._producer) <= WAITING
