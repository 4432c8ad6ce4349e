"""The broker of the tests and `infra/kafka/kafka.sh`: up, written, read, killed, started, down."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.broker import SCRIPT, LocalKafka, OwnKafka, PortTaken

SECONDS = 30.0


def create_topic(bootstrap: str, replicas: int = 1) -> str:
    topic = f"test-{uuid4()}"
    new = NewTopic(topic, num_partitions=1, replication_factor=replicas)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([new])[topic].result(SECONDS)
    return topic


def produce(bootstrap: str, topic: str, value: bytes) -> None:
    """Send with acks=all and wait until the broker has confirmed it."""
    faults: list[KafkaError | None] = []

    def delivered(fault: KafkaError | None, _message: Message) -> None:
        faults.append(fault)

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    producer.produce(topic, value, on_delivery=delivered)
    assert producer.flush(SECONDS) == 0
    assert faults == [None]


def consume(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"test-{uuid4()}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    try:
        return [message.value() for message in consumer.consume(count, SECONDS)]
    finally:
        consumer.close()


def nobody_listens(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) != 0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline, pace = time.monotonic() + SECONDS, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"not within {SECONDS} s"
        pace.wait(0.05)


@pytest.mark.kafka
def test_what_was_produced_is_consumed_in_order(kafka_bootstrap: str) -> None:
    topic = create_topic(kafka_bootstrap)
    produce(kafka_bootstrap, topic, b"first")
    produce(kafka_bootstrap, topic, b"second")
    assert consume(kafka_bootstrap, topic, 2) == [b"first", b"second"]


@pytest.mark.kafka
def test_a_second_up_changes_nothing_and_down_leaves_nothing(own_kafka: OwnKafka) -> None:
    kafka, bootstrap = own_kafka(1)
    topic = create_topic(bootstrap)
    assert kafka.up() == bootstrap
    assert (
        topic in AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=SECONDS).topics
    )
    kafka.down()
    assert nobody_listens(bootstrap)
    assert not kafka.directory.exists()


@pytest.mark.kafka
@pytest.mark.slow
def test_a_killed_node_comes_back_with_what_it_had_confirmed(own_kafka: OwnKafka) -> None:
    kafka, bootstrap = own_kafka(1)
    topic = create_topic(bootstrap)
    produce(bootstrap, topic, b"kept")
    kafka.kill(1)
    assert nobody_listens(bootstrap)
    kafka.start(1)
    assert consume(bootstrap, topic, 1) == [b"kept"]


@pytest.mark.kafka
@pytest.mark.slow
def test_three_nodes_confirm_writes_while_one_is_dead(own_kafka: OwnKafka) -> None:
    kafka, bootstrap = own_kafka(3)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wait_until(lambda: len(admin.list_topics(timeout=10).brokers) == 3)  # all have registered
    topic = create_topic(bootstrap, replicas=3)
    produce(bootstrap, topic, b"before")
    kafka.kill(2)
    produce(bootstrap, topic, b"meanwhile")
    kafka.start(2)
    produce(bootstrap, topic, b"after")
    assert consume(bootstrap, topic, 3) == [b"before", b"meanwhile", b"after"]


@pytest.mark.kafka
def test_no_broker_outlives_the_process_that_owns_it(
    own_kafka: OwnKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        monkeypatch.setattr(os, "getpid", lambda: owner.pid)
        kafka, bootstrap = own_kafka(1)
        owner.send_signal(signal.SIGKILL)
    wait_until(lambda: nobody_listens(bootstrap) and not kafka.directory.exists())


def test_a_taken_port_is_named_with_what_to_set(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=f"port {port} is taken: set MNEMOLOG_KAFKA_PORT"):
            LocalKafka(tmp_path / "kafka", port).up()


@pytest.mark.parametrize("arguments", [[], ["up", "2"], ["kill", "1"], ["start", "x"], ["fly"]])
def test_wrong_usage_is_refused_with_two(arguments: list[str], tmp_path: Path) -> None:
    environment = os.environ | {"MNEMOLOG_KAFKA_DIR": str(tmp_path)}
    done = subprocess.run(
        [SCRIPT, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr
