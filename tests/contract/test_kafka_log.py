"""Where a read of the cluster's log ends: at the end that was asked, not at one told earlier."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.cimpl import NewTopic

from projections.kafka_io import Kafka, KafkaSettings
from projections.kafka_log import KafkaLog
from tests.cluster.conftest import until

pytestmark = pytest.mark.kafka


@pytest.fixture
def log(kafka_bootstrap: str) -> Iterator[tuple[KafkaLog, str]]:
    """A log over one partition of a topic of its own."""
    kafka = Kafka(KafkaSettings.load(kafka_bootstrap))
    topic = f"t-{uuid.uuid4().hex[:10]}"
    config = {"message.timestamp.type": "LogAppendTime"}
    for future in kafka.admin.create_topics([NewTopic(topic, 1, 1, config=config)]).values():
        future.result()
    made = KafkaLog(kafka, 1, topic)
    yield made, topic
    made.close()


def test_what_was_just_appended_is_read_at_once(log: tuple[KafkaLog, str]) -> None:
    """The consumer may still hold the event of an end that has moved since."""
    made, topic = log
    for number in range(60):
        made.wait({(topic, 0): number}, number / 1000)
        value = b"%d" % number
        made.append(topic, 0, [(value, ())])
        assert [record.value for record in made.read(topic, 0, number, 1)] == [value]


def test_a_control_record_at_the_end_does_not_hold_up_the_next_read(
    kafka_bootstrap: str, log: tuple[KafkaLog, str]
) -> None:
    made, topic = log
    producer = Producer({"bootstrap.servers": kafka_bootstrap, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"one", partition=0)
    producer.commit_transaction()
    until(lambda: made.end(topic, 0), lambda end: end == 2)
    assert [record.value for record in made.read(topic, 0, 0, 10)] == [b"one"]
    assert made.read(topic, 0, 1, 10) == []
    assert not made.pending(topic, 0, 1)
    made.append(topic, 0, [(b"two", ())])
    assert [record.value for record in made.read(topic, 0, 1, 10)] == [b"two"]
