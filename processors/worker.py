"""The partition worker: owns partitions by consumer group, admits what is published to them.

Rules
- The group says who tries; the chain says who wins (`processors.admission`). A worker that wrongly
  believes it still owns a partition is beaten, never a fork.
- Reading starts at the intake positions that the ledger states, whatever offsets the group holds.
  A position that the log no longer has is a gap: the worker stops and says from where to where.
  One that the log does not have yet is an intake that was made anew: it goes on behind it if told.
- Nothing is processed before the partition's store is open, folded to the ledger's end and settled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from processors.admission import Admission
from processors.intake_anew import go_on_behind
from projections.kafka_io import Kafka
from projections.kafka_log import arrived, record_of
from projections.ports import Log, LogRecord
from schemas.errors import Unavailable
from schemas.kinds import Kind
from schemas.topics import TopicNames

log = structlog.get_logger()
BATCH = 1000
POLL_S = 0.05
COMPANY_S = 0.002  # causes and effects published together then come together, in their order
HOUSEKEEPING_S = 1.0


class Owned(NamedTuple):
    """What a worker holds of one partition, and how to let it go."""

    admission: Admission
    log: Log
    anchor: Callable[[], None]
    close: Callable[[], None]


def group_of(topics: TopicNames) -> str:
    """The consumer group of an installation's workers; another's on the same broker is another."""
    return f"{topics.prefix}-workers"


class Worker:
    """One worker process. `open_partition` wires a partition up; it may raise `Unavailable`."""

    def __init__(
        self,
        kafka: Kafka,
        topics: TopicNames,
        open_partition: Callable[[int], Owned],
        *,
        keep_intake: bool = False,
        intake_anew: bool = False,
    ) -> None:
        self._kafka = kafka
        self._topics = topics
        self._open_partition = open_partition
        self._keep_intake = keep_intake
        self._intake_anew = intake_anew
        self._owned: dict[int, Owned] = {}
        self._failure: Exception | None = None
        self._stopping = False
        self._housekept = 0.0
        self._consumer: Consumer = kafka.consumer(
            group_of(topics),
            **{
                "partition.assignment.strategy": "range",
                "session.timeout.ms": 10_000,
                "max.poll.interval.ms": 300_000,
                "queued.max.messages.kbytes": 65_536,
            },
        )

    @property
    def partitions(self) -> list[int]:
        """The partitions held now."""
        return sorted(self._owned)

    def stop(self) -> None:
        """Ask `run` to finish the batch in hand and return."""
        self._stopping = True

    def run(self) -> None:
        """Admit until stopped; raises what makes going on impossible."""
        self._consumer.subscribe(
            list(self._topics.intake.values()),
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._revoked,
        )
        try:
            while not self._stopping:
                self._turn()
        finally:
            self._release(list(self._owned))
            self._consumer.close()

    def _turn(self) -> None:
        batches: dict[int, list[LogRecord]] = {}
        messages = arrived(self._consumer, BATCH, POLL_S, COMPANY_S)
        if self._failure is not None:
            raise self._failure
        failure: Unavailable | None = None
        overtaken: set[int] = set()
        for message in messages:
            error = message.error()
            if error is None:
                record = record_of(message)
                batches.setdefault(record.partition, []).append(record)
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                overtaken.add(message.partition() or 0)
            elif error.code() != KafkaError._PARTITION_EOF and not error.retriable():
                failure = self._kafka.unreadable(message, error)
                break  # what came before it is admitted, nothing behind it
        for partition, records in batches.items():
            owned = self._owned.get(partition)
            if owned is not None:
                owned.admission.admit(records)
        if failure is not None:
            raise failure
        if overtaken:
            self._go_on_behind_others(overtaken)
        if time.monotonic() - self._housekept > HOUSEKEEPING_S:
            self._housekeep()

    def _go_on_behind_others(self, overtaken: set[int]) -> None:
        """Intake was dropped before it was read here: admitted by others, or a gap, which raises.

        A partition that ended in an error takes no seek, so all are read on from the ledger's word.
        """
        for partition in sorted(overtaken & set(self._owned)):
            self._owned[partition].admission.resume()
        self._consumer.assign([self._place(place) for place in self._consumer.assignment()])

    def _housekeep(self) -> None:
        """Anchor after the log; drop admitted intake; tell the group how far it is."""
        self._housekept = time.monotonic()
        for partition, owned in self._owned.items():
            owned.anchor()
            positions = owned.admission.positions()
            reached = [
                TopicPartition(self._topics.intake[kind], partition, at)
                for kind, at in positions.items()
                if at > 0
            ]
            if not reached:
                continue
            if not self._keep_intake:
                self._truncate(owned, partition, positions)
            try:
                self._consumer.commit(offsets=reached, asynchronous=True)
            except KafkaException as error:
                log.info("offsets not committed", error=str(error))

    def _truncate(self, owned: Owned, partition: int, positions: dict[Kind, int]) -> None:
        places = [(self._topics.intake[kind], partition) for kind, at in positions.items() if at]
        starts = self._kafka.offsets(places, latest=False)
        for (topic, _), start in zip(places, starts, strict=True):
            at = positions[self._topics.kind_of[topic]]
            if start < at:
                owned.log.truncate(topic, partition, at)

    def _assigned(self, consumer: Consumer, given: list[TopicPartition]) -> None:
        try:
            for partition in sorted({place.partition for place in given} - set(self._owned)):
                owned = self._open_partition(partition)
                self._owned[partition] = owned
                owned.admission.resume()
                log.info("partition taken", partition=partition)
            consumer.assign([self._place(place) for place in given])
        except Exception as error:  # noqa: BLE001 - raised by `run`, outside librdkafka's callback
            self._failure = error
            consumer.assign([])

    def _place(self, place: TopicPartition) -> TopicPartition:
        kind = self._topics.kind_of[place.topic]
        owned = self._owned[place.partition]
        at = owned.admission.positions()[kind]
        if self._intake_anew and at:
            moved = go_on_behind(owned.log, place.topic, place.partition, at)
            log.info("going on behind the intake", topic=place.topic, at=at, moved=moved)
        start = owned.log.start(place.topic, place.partition)
        end = owned.log.end(place.topic, place.partition)
        if at > end:
            raise Unavailable(
                f"intake {place.topic}/{place.partition}",
                f"it ends at {end}, and the ledger goes on at {at}: it was made anew",
                "publish again what is missing and start: mnemolog worker --intake-anew",
            )
        if at < start:
            raise Unavailable(
                f"intake {place.topic}/{place.partition}",
                f"records {at} to {start - 1} are gone and were never admitted",
                "restore them, or move on knowingly with another topic prefix",
            )
        return TopicPartition(place.topic, place.partition, at)

    def _revoked(self, _: Consumer, taken: list[TopicPartition]) -> None:
        self._release(sorted({place.partition for place in taken}))

    def _release(self, partitions: list[int]) -> None:
        for partition in partitions:
            owned = self._owned.pop(partition, None)
            if owned is not None:
                self._let_go(partition, owned)

    @staticmethod
    def _let_go(partition: int, owned: Owned) -> None:
        try:
            owned.anchor()
        except Unavailable as error:  # an anchor may lag behind: who takes over writes it
            log.warning("let go without an anchor", partition=partition, error=str(error))
        finally:
            owned.close()
        log.info("partition let go", partition=partition)
