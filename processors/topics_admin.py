"""The cluster's topics: create what is missing, and refuse settings that would lose memory."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from projections.kafka_io import ATTEMPT, TIMEOUT, Kafka
from schemas.errors import Unavailable
from schemas.topics import TopicNames, differences

MAX_REPLICAS = 3
KNOWN_S = 3.0
METADATA_S = 10.0  # for one answer about every topic of the cluster


def create(kafka: Kafka, topics: TopicNames, partitions: int) -> list[str]:
    """Create missing topics with their settings; the names of those made.

    They get as many partitions as the ledger has, if there is one.
    """
    known = _metadata(kafka)
    brokers, ledger = len(known.brokers), known.topics.get(topics.ledger)
    if ledger is not None:
        partitions = len(ledger.partitions)
    replicas = min(MAX_REPLICAS, brokers)
    wanted = [
        NewTopic(
            topic.name,
            num_partitions=partitions,
            replication_factor=replicas,
            config={**topic.config, "min.insync.replicas": str(max(1, replicas - 1))},
        )
        for topic in topics.topics()
    ]
    made = []
    futures = kafka.admin.create_topics(wanted, operation_timeout=TIMEOUT)
    for name, future in futures.items():
        try:
            future.result()
            made.append(name)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise kafka.unavailable(error) from error
    _await_leaders(kafka, topics)
    wrong = _check_once_known(kafka, topics)
    if wrong:
        raise Unavailable("topics", "; ".join(wrong), "mend them as it says, then start again")
    return sorted(made)


def _check_once_known(kafka: Kafka, topics: TopicNames) -> list[str]:
    """`check`, when whichever broker is asked has heard of the topics that exist."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            known = _metadata(kafka).topics
            if not _missing(topics, known):
                return _wrong(kafka, topics, known)
        except Unavailable:
            if time.monotonic() > deadline:
                raise
        if time.monotonic() > deadline:
            raise kafka.unavailable("not every broker knows the topics that were created yet")
        time.sleep(0.05)


def _await_leaders(kafka: Kafka, topics: TopicNames) -> None:
    """Created topics show, and can be written to, only after the brokers have told each other."""
    deadline = time.monotonic() + TIMEOUT
    names = [topic.name for topic in topics.topics()]
    while True:
        known = _metadata(kafka).topics
        if all(
            name in known
            and known[name].partitions
            and all(one.leader >= 0 for one in known[name].partitions.values())
            for name in names
        ):
            return
        if time.monotonic() > deadline:
            raise kafka.unavailable("the topics that were created have no leaders yet")
        time.sleep(0.05)


def check(kafka: Kafka, topics: TopicNames) -> list[str]:
    """What is wrong with the topics, a sentence each with the remedy; empty if nothing."""
    return _wrong(kafka, topics, _metadata(kafka).topics)


def _wrong(kafka: Kafka, topics: TopicNames, known: Any) -> list[str]:
    """The same of topics as one broker knows them."""
    expected = topics.topics()
    counts = {
        topic.name: len(known[topic.name].partitions) for topic in expected if topic.name in known
    }
    missing = _missing(topics, known)
    if missing:
        return [
            f"topics are missing: {', '.join(missing)}; type: mnemolog topics create "
            f"--kafka {kafka.settings.bootstrap}"
        ]
    count = counts[topics.ledger]
    resources = {topic.name: ConfigResource(ResourceType.TOPIC, topic.name) for topic in expected}

    def ask() -> dict[str, dict[str, Any]]:
        asked = kafka.admin.describe_configs(list(resources.values()), request_timeout=ATTEMPT)
        return {name: asked[resource].result() for name, resource in resources.items()}

    found = kafka.patiently(ask)
    wrong: list[str] = []
    for topic in expected:
        actual = {name: str(entry.value) for name, entry in found[topic.name].items()}
        wrong += differences(topic, actual, (counts[topic.name], count))
    return wrong


def _missing(topics: TopicNames, known: Any) -> list[str]:
    return [topic.name for topic in topics.topics() if topic.name not in known]


def partition_count(kafka: Kafka, topics: TopicNames) -> int:
    """How many partitions the ledger has; `Unavailable` unless every topic is as it must be.

    A broker that has just come up knows of no topics for a moment, so absent ones are waited for.
    """
    deadline = time.monotonic() + KNOWN_S
    while _missing(topics, _metadata(kafka).topics) and time.monotonic() < deadline:
        time.sleep(0.1)
    wrong = check(kafka, topics)
    if wrong:
        raise Unavailable("topics", "; ".join(wrong), "mend them as it says, then start again")
    return len(_metadata(kafka).topics[topics.ledger].partitions)


def _metadata(kafka: Kafka) -> Any:
    return kafka.patiently(lambda: kafka.admin.list_topics(timeout=METADATA_S))
