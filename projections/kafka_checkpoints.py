"""The cluster's checkpoints: the last signed ones, in a compacted topic (SPEC §3).

A record's key is the log's identity, its value the checkpoint as JSON, both in partition 0. So the
last one of every log that ever stood behind this name is kept, and a log that took another's place
shows.
"""

from __future__ import annotations

import json

from projections.kafka_io import Kafka
from projections.kafka_log import KafkaLog
from schemas.answers import Checkpoint
from schemas.checkpoints import CheckpointKey, parse_checkpoint
from schemas.errors import InvalidEvent, Unavailable


class KafkaCheckpoints:
    """Checkpoints of one installation, believed only with its signature."""

    def __init__(self, kafka: Kafka, log: KafkaLog, topic: str, key: CheckpointKey) -> None:
        self._kafka = kafka
        self._log = log
        self._topic = topic
        self._key = key

    def keep(self, checkpoint: Checkpoint) -> None:
        """Publish one; acknowledged when it returns."""
        value = checkpoint.model_dump_json().encode()
        self._kafka.send(self._topic, 0, [(checkpoint.log.encode(), value, ())])

    def all(self) -> list[Checkpoint]:
        """The last of every log; `Unavailable` names a record that is not this installation's."""
        found: dict[bytes, Checkpoint] = {}
        at = self._log.start(self._topic, 0)
        while records := self._log.read(self._topic, 0, at, 1000):
            for record in records:
                if record.value is None:
                    found.pop(record.key, None)
                else:
                    found[record.key] = self._authentic(record.offset, record.value)
            at = records[-1].offset + 1
        return list(found.values())

    def _authentic(self, offset: int, value: bytes) -> Checkpoint:
        try:
            checkpoint = parse_checkpoint(json.loads(value))
            self._key.recognise(checkpoint)
        except (ValueError, InvalidEvent) as error:
            raise Unavailable(
                self._topic,
                f"record {offset} is no checkpoint of this installation: {error}",
                "find out who wrote it; publish a null for its key to go on without it",
            ) from error
        return checkpoint

    def close(self) -> None:
        """Let the log go."""
        self._log.close()
