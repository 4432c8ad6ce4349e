"""Publishing to the intake topics: build, sign, produce, and wait for the brokers' word (SPEC §2).

Records carry no message key; the partition is the subject's own (`schemas.scope.partition_of`), so
that all kinds of a subject meet in one partition. Acknowledged means that every in-sync replica has
it; a producer's retry after a lost acknowledgement is not a second record, and if one came about
all the same, admission would mark it `duplicate`.

What waits for the brokers is bounded in events and bytes. Events for which there is no room are
refused before any of them is sent; nothing is kept for later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from schemas.codec import Codec
from schemas.errors import Unavailable
from schemas.events import Event, is_barrier, runs_between_barriers
from schemas.kinds import Kind
from schemas.scope import partition_of
from schemas.signing import Signer
from schemas.topics import INTAKE_MAX_BYTES, TopicNames

TIMEOUT_S = 30.0
ROOM_S = 1.0
WAITING_EVENTS = 20_000
WAITING_KBYTES = 65_536
BARRIER_PAUSE_S = 0.002


class Placed(NamedTuple):
    """Where an event stands in the intake."""

    partition: int
    kind: Kind
    offset: int


class KafkaPublisher:
    """Publishes as one signer. Safe for many threads; `close` sends what is left."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        topics: TopicNames,
        signer: Signer,
        partitions: int,
        codec: Codec | None = None,
        timeout: float = TIMEOUT_S,
        waiting: int = WAITING_EVENTS,
    ) -> None:
        """`timeout`: seconds until the brokers must have answered; `waiting`: events at most."""
        self._timeout = timeout
        self._waiting = waiting
        self._topics = topics
        self._signer = signer
        self._partitions = partitions
        self._codec = codec or Codec()
        self._producer = Producer(
            {
                **settings,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 1,
                "compression.type": "lz4",
                "message.max.bytes": INTAKE_MAX_BYTES,
                "delivery.timeout.ms": int(timeout * 1000),
                "queue.buffering.max.messages": waiting,
                "queue.buffering.max.kbytes": WAITING_KBYTES,
                "log_level": 2,  # a failure is raised, not a line for each attempt to reconnect
            }
        )

    def publish(self, events: Sequence[tuple[Kind, Event]]) -> list[Placed]:
        """Publish in order; acknowledged when it returns.

        Raises `InvalidEvent` before anything is sent, `Unavailable` if something may not have been.
        What comes before a subject or scope deletion is acknowledged before it is sent, and what
        comes after waits until it cannot tie with the deletion's millisecond.
        """
        self._make_room(len(events))
        frames = iter([self._codec.encode(kind, event) for kind, event in events])
        placed: list[Placed] = []
        for run in runs_between_barriers(events):
            placed += self._publish_run([(kind, event, next(frames)) for kind, event in run])
            if is_barrier(run[0][1]):
                time.sleep(BARRIER_PAUSE_S)
        return placed

    def _publish_run(self, events: Sequence[tuple[Kind, Event, bytes]]) -> list[Placed]:
        placed: list[Placed | None] = [None] * len(events)
        failures: list[Unavailable] = []
        deadline = time.monotonic() + self._timeout
        for index, (kind, event, payload) in enumerate(events):
            report = self._report(index, kind, placed, failures)
            self._produce(kind, event, payload, report, deadline)
        while None in placed and not failures and time.monotonic() < deadline:
            self._producer.poll(0.05)
        if failures:
            raise failures[0]
        if None in placed:
            raise _failed(f"no acknowledgement within {self._timeout:g} s")
        return [one for one in placed if one is not None]

    def close(self) -> None:
        """Send what is buffered."""
        self._producer.flush(self._timeout)

    def _make_room(self, count: int) -> None:
        """Wait, not long, until so many events fit, or nothing waits; else `Unavailable`."""
        deadline = time.monotonic() + ROOM_S
        while (waiting := len(self._producer)) and waiting + count > self._waiting:
            if time.monotonic() > deadline:
                raise Unavailable(
                    "broker",
                    f"{waiting} events wait for its answer and {count} more came; "
                    f"the limit is {self._waiting}",
                    "publish them again in a moment: none of them was sent",
                )
            self._producer.poll(0.05)

    def _produce(
        self,
        kind: Kind,
        event: Event,
        payload: bytes,
        report: Callable[[KafkaError | None, Message], None],
        deadline: float,
    ) -> None:
        partition = partition_of(event.envelope.scope, self._partitions)
        headers: Any = self._signer.sign(kind, payload)
        while True:
            try:
                self._producer.produce(
                    self._topics.intake[kind],
                    value=payload,
                    partition=partition,
                    headers=headers,
                    on_delivery=report,
                )
                return
            except BufferError:
                if time.monotonic() > deadline:
                    raise _failed(f"no room in its queue within {self._timeout:g} s") from None
                self._producer.poll(0.05)
            except KafkaException as error:
                raise Unavailable("broker", str(error), "check its address and settings") from error

    @staticmethod
    def _report(
        index: int, kind: Kind, placed: list[Placed | None], failures: list[Unavailable]
    ) -> Callable[[KafkaError | None, Message], None]:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                placed[index] = Placed(message.partition() or 0, kind, message.offset() or 0)
            elif error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                failures.append(_too_small(message))
            else:
                failures.append(_failed(error.str()))

        return delivered


def _failed(why: str) -> Unavailable:
    return Unavailable("broker", why, "publish again: what came through is marked duplicate")


def _too_small(message: Message) -> Unavailable:
    """The event is within our limit, so the topic's is not what it must be."""
    return Unavailable(
        f"topic {message.topic()}",
        f"it refuses an event of {len(message)} bytes; its max.message.bytes must be "
        f"{INTAKE_MAX_BYTES} or more",
        "type: mnemolog topics check",
    )
