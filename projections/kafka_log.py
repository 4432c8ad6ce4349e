"""The cluster's log: Apache Kafka behind the `Log` port.

The end of a partition comes from the broker's offsets and its end-of-partition event, never from
counting: control records of transactions occupy offsets and are never delivered. An event tells the
end of the moment in which it was queued, perhaps before the last append: only one that stands at
the asked end, or beyond it, ends a read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    Message,
    TopicCollection,
    TopicPartition,
)

from projections.kafka_io import ATTEMPT, TIMEOUT, Kafka
from projections.log_memory import closed, truncated
from projections.ports import Headers, LogRecord


class KafkaLog:
    """A `Log` over one cluster. Not for concurrent use: one instance a thread."""

    def __init__(self, kafka: Kafka, partitions: int, ledger: str) -> None:
        self.partitions = partitions
        self._kafka = kafka
        self._ledger = ledger
        self._consumers: dict[tuple[str, int], tuple[Consumer, int]] = {}
        self._identity = ""
        self._open = True

    def identity(self) -> str:
        """Cluster id and the ledger's topic id: a re-created topic is another log."""
        if not self._identity:
            self._identity = self._kafka.patiently(self._ask_identity, topics=[self._ledger])
        return self._identity

    def _ask_identity(self) -> str:
        admin, topics = self._kafka.admin, TopicCollection([self._ledger])
        cluster = admin.describe_cluster(request_timeout=ATTEMPT).result()
        topic = admin.describe_topics(topics, request_timeout=ATTEMPT)[self._ledger].result()
        return f"{cluster.cluster_id}/{topic.topic_id}"

    def append(
        self, topic: str, partition: int, records: Sequence[tuple[bytes | None, Headers]]
    ) -> list[int]:
        """Produce in order; acknowledged by all in-sync replicas when it returns."""
        self._check()
        sent = self._kafka.send(
            topic, partition, [(None, value, headers) for value, headers in records]
        )
        return [one.offset for one in sent]

    def read(
        self, topic: str, partition: int, offset: int, limit: int, end: int = 0
    ) -> list[LogRecord]:
        """What is there from `offset` on."""
        if offset >= end:
            end = self.end(topic, partition)
        if offset >= end or limit <= 0:
            return []
        start = (
            self.start(topic, partition)
            if offset == 0 or self._jumps(topic, partition, offset)
            else offset
        )
        if offset < start:
            raise truncated(topic, partition, offset, start)
        consumer = self._at(topic, partition, offset)
        found: list[LogRecord] = []
        deadline = time.monotonic() + TIMEOUT
        while len(found) < limit:
            ended = False
            for message in arrived(consumer, limit - len(found), 0.1):
                error = message.error()
                if error is None:
                    found.append(record_of(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended = (message.offset() or 0) >= end
                elif not error.retriable():
                    self._consumers.pop((topic, partition))[0].close()
                    raise self._kafka.unreadable(message, error)
            if ended or (found and found[-1].offset >= end - 1):
                break
            if time.monotonic() > deadline:
                raise self._kafka.unavailable(f"{topic}/{partition} could not be read in time")
        after = max(found[-1].offset + 1 if found else 0, end if ended else 0)
        self._consumers[topic, partition] = (consumer, after)
        return found

    def fetched_end(self, topic: str, partition: int, offset: int) -> int:
        """The next offset as the last fetch from `offset` on told it, 0 before the first one.

        Nobody is asked: a consumer that stands there is told of what comes while it waits for it.
        """
        self._check()
        place = TopicPartition(topic, partition)
        _, end = self._at(topic, partition, offset).get_watermark_offsets(place, cached=True)
        return max(0, end)

    def _jumps(self, topic: str, partition: int, offset: int) -> bool:
        known = self._consumers.get((topic, partition))
        return known is None or known[1] != offset

    def _at(self, topic: str, partition: int, offset: int) -> Consumer:
        known = self._consumers.get((topic, partition))
        if known is None:
            consumer = self._kafka.consumer("mnemolog-readers")
        elif known[1] == offset:
            return known[0]
        else:
            consumer = known[0]
        consumer.assign([TopicPartition(topic, partition, offset)])
        self._consumers[topic, partition] = (consumer, offset)
        return consumer

    def pending(self, topic: str, partition: int, offset: int) -> bool:
        """Whether a record (and not only control records) stands at `offset` or after it."""
        return bool(self.read(topic, partition, offset, 1))

    def start(self, topic: str, partition: int) -> int:
        """The first offset that is still there."""
        self._check()
        return self._kafka.offsets([(topic, partition)], latest=False)[0]

    def end(self, topic: str, partition: int) -> int:
        """The next offset."""
        self._check()
        return self._kafka.offsets([(topic, partition)], latest=True)[0]

    def truncate(self, topic: str, partition: int, before: int) -> None:
        """Delete the records before an offset (DeleteRecords)."""
        self._check()
        place = TopicPartition(topic, partition, before)

        def delete() -> None:
            asked = self._kafka.admin.delete_records([place], request_timeout=ATTEMPT)
            for future in asked.values():
                future.result()

        self._kafka.patiently(delete, topics=[topic])

    def wait(self, ends: Mapping[tuple[str, int], int], timeout: float) -> bool:
        """Ask for the ends until one has moved."""
        places = list(ends)
        deadline = time.monotonic() + timeout
        while True:
            self._check()
            now = self._kafka.offsets(places, latest=True)
            if any(end > ends[place] for place, end in zip(places, now, strict=True)):
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)

    def close(self) -> None:
        """Let the consumers go; a waiter notices at its next look."""
        self._open = False
        for consumer, _ in self._consumers.values():
            consumer.close()
        self._consumers.clear()

    def _check(self) -> None:
        if not self._open:
            raise closed("log")


def arrived(consumer: Consumer, limit: int, first: float, others: float = 0.0) -> list[Message]:
    """The next messages; waits so many seconds for the first, and then for `limit` in all."""
    messages = consumer.consume(1, first)
    return messages + consumer.consume(limit - 1, others) if messages and limit > 1 else messages


def record_of(message: Message) -> LogRecord:
    """A delivered message as a log record."""
    headers = tuple((str(pair[0]), bytes(pair[1] or b"")) for pair in _headers(message))
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and partition is not None and offset is not None  # noqa: PT018
    append_ms, key = message.timestamp()[1], message.key() or b""
    return LogRecord(topic, partition, offset, append_ms, message.value(), headers, key)


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    headers: Any = message.headers()
    return list(headers or ())
