"""Kafka clients with the settings that the contract needs (ARCHITECTURE "Topics"; SPEC §3).

Producing means acknowledged by all in-sync replicas, in order, or an error that names the broker.
Offsets are asked of an admin client, which is not fetching; a consumer never jumps: an offset that
is not there is an error. `MNEMOLOG_KAFKA_CONFIG` names a properties file that is passed through
(SASL, TLS). While brokers are away clients try again at leisure, and the process says so in one
line at intervals instead of librdkafka's many.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from projections.ports import Headers
from schemas.errors import Unavailable

log = structlog.get_logger()
T = TypeVar("T")

TIMEOUT = 30.0
ATTEMPT = 3.0  # after so long without an answer it is asked anew who leads
TELL_S = 10.0  # between two lines about one outage
OVER_S = 10.0  # without an error for so long, and the outage is over
_MOVING = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.OFFSET_NOT_AVAILABLE,  # a new leader does not know yet how far the others are
    KafkaError.UNKNOWN_LEADER_EPOCH,  # a broker that was restarted has not heard of it yet
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError._NOENT,  # no leader is known yet
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
)
_DAMAGED = (KafkaError._BAD_COMPRESSION, KafkaError._BAD_MSG)
_AWAY = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT)
CONFIG_VARIABLE = "MNEMOLOG_KAFKA_CONFIG"


class KafkaSettings(NamedTuple):
    """Where the brokers are, and whatever else librdkafka is told."""

    bootstrap: str
    extra: Mapping[str, str]

    @classmethod
    def load(cls, bootstrap: str, env: Mapping[str, str] | None = None) -> KafkaSettings:
        """With the properties file of the environment, if one is named."""
        name = (os.environ if env is None else env).get(CONFIG_VARIABLE)
        return cls(bootstrap, {} if not name else _properties(Path(name)))

    def client(self, **own: Any) -> dict[str, Any]:
        """librdkafka's configuration."""
        return {
            "bootstrap.servers": self.bootstrap,
            "reconnect.backoff.ms": 250,
            "reconnect.backoff.max.ms": 2_000,
            "log_level": 2,  # no line for each attempt to reconnect: `Outage` tells of them
            "error_cb": outage_of(self.bootstrap),
            **self.extra,
            **own,
        }


class Outage:
    """Says that brokers do not answer: at once, then every `TELL_S` seconds while it lasts."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._lock = threading.Lock()
        self._since = self._last = self._told = float("-inf")

    def __call__(self, error: KafkaError) -> None:
        """What a client of this process met, on whichever thread."""
        now = time.monotonic()
        with self._lock:
            if now - self._last > OVER_S:
                self._since, self._told = now, float("-inf")
            self._last = now
            if now - self._told < TELL_S:
                return
            self._told = now
        log.warning(
            "a broker does not answer; trying again",
            broker=self._bootstrap,
            seconds=round(now - self._since),
            error=error.str(),
        )


@cache
def outage_of(bootstrap: str) -> Outage:
    """One for all clients that a process has of a cluster."""
    return Outage(bootstrap)


def _properties(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise Unavailable("broker settings", str(error), f"mend ${CONFIG_VARIABLE}") from error
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, value in pairs}


class Sent(NamedTuple):
    """Where a record came to stand, and the log's time of it in ms."""

    offset: int
    append_ms: int


class Kafka:
    """One process's producer and admin client; consumers are made on request."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.settings = settings
        self._producer = Producer(
            settings.client(
                **{
                    "acks": "all",
                    "enable.idempotence": True,
                    "linger.ms": 0,
                    "compression.type": "lz4",
                    "message.max.bytes": 8 * 1024 * 1024,
                    "queue.buffering.max.messages": 200_000,
                    "delivery.timeout.ms": int(TIMEOUT * 1000),
                }
            )
        )
        self.admin = AdminClient(settings.client())

    def unavailable(self, what: object) -> Unavailable:
        """A broker's failure, with what to do."""
        return Unavailable(
            f"broker {self.settings.bootstrap}",
            str(what),
            "check that it runs and that the address is right",
        )

    def unreadable(self, message: Message, error: KafkaError) -> Unavailable:
        """Why a fetch failed: damage of what is stored is told from a broker that is away."""
        if error.code() not in _DAMAGED:
            return self.unavailable(error)
        return Unavailable(
            f"{message.topic()}/{message.partition()}",
            f"the batch at offset {message.offset()} cannot be read: {error.str()}",
            "what the broker stores is damaged: restore the partition from another replica or a "
            "backup, then start again",
        )

    def send(
        self,
        topic: str,
        partition: int,
        records: Sequence[tuple[bytes | None, bytes | None, Headers]],
    ) -> list[Sent]:
        """Produce (key, value, headers) in order; acknowledged when it returns."""
        sent: list[Sent] = []
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(error)
            else:
                sent.append(Sent(message.offset() or 0, message.timestamp()[1]))

        for key, value, headers in records:
            self._produce(topic, partition, key, value, headers, delivered)
        deadline = time.monotonic() + TIMEOUT
        while len(sent) < len(records) and not failures and time.monotonic() < deadline:
            self._producer.poll(0.05)
        if failures:
            raise self.unavailable(failures[0])
        if len(sent) < len(records):
            raise self.unavailable(f"no acknowledgement of {topic} within {TIMEOUT:g} s")
        return sorted(sent)  # the order in which they were sent: all are of one partition

    def _produce(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        report: Any,
    ) -> None:
        while True:
            try:
                self._producer.produce(
                    topic,
                    value=value,
                    key=key,
                    partition=partition,
                    headers=list(headers),
                    on_delivery=report,
                )
                return
            except BufferError:
                self._producer.poll(0.05)
            except KafkaException as error:
                raise self.unavailable(error) from error

    def offsets(
        self, places: Sequence[tuple[str, int]], *, latest: bool, patience: float | None = None
    ) -> list[int]:
        """First or next offsets of (topic, partition)s, as the brokers tell them now."""
        topics = sorted({topic for topic, _ in places})
        return self.patiently(lambda: self._offsets(places, latest=latest), patience, topics)

    def patiently(
        self, ask: Callable[[], T], patience: float | None = None, topics: Sequence[str] = ()
    ) -> T:
        """An answer of the admin client, asked for again while leaders move; or `Unavailable`.

        `ask` waits for no more than `ATTEMPT` seconds and may be repeated; after `patience` seconds
        it is not asked again. `topics`: whose leaders it is about.
        """
        deadline = time.monotonic() + (TIMEOUT if patience is None else patience)
        while True:
            try:
                return ask()
            except KafkaException as error:
                cause = error.args[0]
                moving = isinstance(cause, KafkaError) and (
                    cause.code() in _MOVING or cause.retriable()
                )
                if not moving or time.monotonic() > deadline:
                    raise self.unavailable(error) from error
                if cause.code() in _AWAY:
                    outage_of(self.settings.bootstrap)(cause)
                self._learn_anew(topics)
            except ValueError as error:
                raise self.unavailable(error) from error

    def _learn_anew(self, topics: Sequence[str]) -> None:
        """Ask who leads what: a client goes on with the leader and epoch that it knows for long."""
        time.sleep(0.05)
        try:
            for topic in topics:
                self.admin.list_topics(topic, timeout=ATTEMPT)
        except KafkaException as away:
            outage_of(self.settings.bootstrap)(away.args[0])

    def _offsets(self, places: Sequence[tuple[str, int]], *, latest: bool) -> list[int]:
        spec: OffsetSpec = getattr(OffsetSpec, "latest" if latest else "earliest")()
        asked = {TopicPartition(topic, partition): spec for topic, partition in places}
        futures = self.admin.list_offsets(asked, request_timeout=ATTEMPT)
        found = {
            (place.topic, place.partition): future.result().offset
            for place, future in futures.items()
        }
        if min(found.values(), default=0) < 0:  # what a client says of a leader that is gone
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "its leader does not answer"))
        return [found[place] for place in places]

    def consumer(self, group: str, **own: Any) -> Consumer:
        """A consumer that stops at what is missing instead of jumping over it."""
        return Consumer(
            self.settings.client(
                **{
                    "group.id": group,
                    "enable.auto.commit": False,
                    "auto.offset.reset": "error",
                    "enable.partition.eof": True,
                    "fetch.wait.max.ms": 20,
                    "fetch.message.max.bytes": 8 * 1024 * 1024,
                    **own,
                }
            )
        )

    def close(self) -> None:
        """Send what is buffered."""
        self._producer.flush(TIMEOUT)
