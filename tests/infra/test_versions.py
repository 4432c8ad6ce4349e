"""One version of each thing: of Kafka in POM, compose file and tests; of packages in both locks."""

from __future__ import annotations

import re
from pathlib import Path

from tests.broker import IMAGE

ROOT = Path(__file__).parents[2]


def pinned(lock: str) -> set[str]:
    return set(re.findall(r"^[a-z0-9-]+==\S+", (ROOT / lock).read_text(), re.MULTILINE))


def test_kafka_is_the_same_everywhere() -> None:
    pom = (ROOT / "infra/kafka/pom.xml").read_text()
    version = re.search(r"<kafka.version>(.*)</kafka.version>", pom)
    images = re.findall(r"image: (apache/kafka:\S+)", (ROOT / "infra/compose.yaml").read_text())
    assert version is not None
    assert [*images, IMAGE] == [f"apache/kafka:{version[1]}"] * 2


def test_the_image_runs_what_was_tested() -> None:
    image, development = pinned("infra/requirements.lock"), pinned("requirements.lock")
    assert image
    assert image <= development


def test_locks_name_no_registry() -> None:
    for lock in ("requirements.lock", "infra/requirements.lock"):
        assert not re.search(r"https?:|^ *--(?!hash=)", (ROOT / lock).read_text(), re.MULTILINE)
