"""One cluster and one worker for the records of a whole module."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from mnemolog.cluster import create_topics
from tests.cluster.conftest import PARTITIONS, Cluster
from tests.intake.harness import Intake


@pytest.fixture(scope="module")
def intake(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Intake]:
    """A running worker on topics of its own."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MNEMOLOG_TOPIC_PREFIX", f"i-{uuid.uuid4().hex[:10]}")
        create_topics(kafka_bootstrap, PARTITIONS)
        cluster = Cluster(kafka_bootstrap, tmp_path_factory.mktemp("intake"))
    yield Intake(cluster)
    cluster.stop()
