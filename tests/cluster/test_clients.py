"""What the brokers' clients are made to do while leaders move and brokers are away; no broker."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException
from structlog.testing import capture_logs

from projections import kafka_io
from projections.kafka_io import TELL_S, Kafka, KafkaSettings, Outage
from schemas.errors import Unavailable

Answer = int | KafkaException
MOVED = KafkaException(KafkaError(KafkaError.FENCED_LEADER_EPOCH))
REFUSED = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
NO_LEADER = -1001  # how librdkafka says, without an error, that a leader did not answer


class Told(NamedTuple):
    """A listing's result."""

    offset: int


class Admin:
    """An admin client that gives the answers it was given, one a question."""

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = iter(answers)
        self.refreshed = 0

    def list_offsets(self, asked: dict[Any, Any], request_timeout: float) -> dict[Any, Any]:
        assert request_timeout <= kafka_io.ATTEMPT
        answer = next(self.answers)
        futures: dict[Any, Future[Told]] = {place: Future() for place in asked}
        for future in futures.values():
            if isinstance(answer, int):
                future.set_result(Told(answer))
            else:
                future.set_exception(answer)
        return futures

    def list_topics(self, topic: str, timeout: float) -> None:
        assert topic == "ledger"
        self.refreshed += 1


class Clock:
    """Time that passes only where something waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of `kafka_io`."""
    made = Clock()
    monkeypatch.setattr(kafka_io, "time", made)
    return made


@pytest.fixture
def kafka(clock: Clock) -> Callable[[list[Answer]], tuple[Kafka, Admin]]:
    """A client of no broker whose admin client gives these answers."""

    def make(answers: list[Answer]) -> tuple[Kafka, Admin]:
        made: Any = Kafka.__new__(Kafka)
        made.settings = KafkaSettings("nowhere:1", {})
        made.admin = admin = Admin(answers)
        return made, admin

    return make


def test_an_offset_is_asked_for_anew_until_a_leader_tells_it(
    kafka: Callable[[list[Answer]], tuple[Kafka, Admin]],
) -> None:
    asked, admin = kafka([NO_LEADER, MOVED, NO_LEADER, 105])
    assert asked.offsets([("ledger", 0)], latest=True) == [105]
    assert admin.refreshed == 3


def test_no_offset_is_better_than_a_wrong_one(
    kafka: Callable[[list[Answer]], tuple[Kafka, Admin]],
) -> None:
    asked, _ = kafka([NO_LEADER] * 2000)
    with pytest.raises(Unavailable, match="its leader does not answer"):
        asked.offsets([("ledger", 0)], latest=True)


def test_what_waiting_does_not_mend_is_said_at_once(
    kafka: Callable[[list[Answer]], tuple[Kafka, Admin]],
) -> None:
    asked, admin = kafka([REFUSED])
    with pytest.raises(Unavailable, match="nowhere:1"):
        asked.offsets([("ledger", 0)], latest=True)
    assert admin.refreshed == 0


def test_an_outage_is_told_at_once_then_at_intervals(clock: Clock) -> None:
    outage, away = Outage("nowhere:1"), KafkaError(KafkaError._TRANSPORT)
    with capture_logs() as told:
        for _ in range(1000):
            outage(away)
            clock.sleep(0.05)
    assert [line["seconds"] for line in told] == [0, TELL_S, 2 * TELL_S, 3 * TELL_S, 4 * TELL_S]
    with capture_logs() as later:
        clock.sleep(3600)
        outage(away)
    assert [line["seconds"] for line in later] == [0]
