"""Two installations on one broker share no consumer group: neither's processes disturb the other's.

A group's members rebalance together whatever they subscribe to, so workers of another prefix would
take a worker's partitions from it again and again.
"""

from __future__ import annotations

from typing import Any

import pytest

from processors.agents.app import build
from processors.worker import Worker
from projections.kafka_io import Kafka
from schemas.topics import DEFAULT_PREFIX, TopicNames


class Asked(Kafka):
    """Kafka that only says which groups were asked for."""

    def __init__(self) -> None:
        self.groups: list[str] = []

    def consumer(self, group: str, **own: Any) -> Any:
        self.groups.append(group)


def worker_group(prefix: str) -> str:
    kafka = Asked()
    Worker(kafka, TopicNames(prefix), lambda _: pytest.fail("nothing is opened"))
    (group,) = kafka.groups
    return group


def agents_group(prefix: str) -> str:
    name = build("127.0.0.1:1", TopicNames(prefix).triggers, lambda: 0, data_dir="unused").conf.id
    return str(name)


def test_the_workers_of_each_prefix_have_a_group_of_their_own() -> None:
    assert worker_group("one") != worker_group("other")


def test_the_agents_of_each_prefix_have_a_group_of_their_own() -> None:
    assert agents_group("one") != agents_group("other")


def test_the_groups_of_the_default_prefix_keep_their_names() -> None:
    assert worker_group(DEFAULT_PREFIX) == "mnemolog-workers"
    assert agents_group(DEFAULT_PREFIX) == "mnemolog-agents"
