"""The topics that an instance directory has met (SPEC §2 "Partition", §3; ARCHITECTURE "Topics").

Rules
- The count of partitions decides where a subject lives: another count than before is refused.
- A topic that was made anew under its old name is another topic. What a new intake topic holds
  below the position that the ledger states would be passed over in silence, and a new keys topic
  has lost keys: it is refused until the operator says otherwise.
- What was met stands in `topics.json`, beside the stores that were folded from it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from confluent_kafka import KafkaException, TopicCollection

from projections.kafka_io import TIMEOUT, Kafka
from schemas.errors import Unavailable
from schemas.files import replace
from schemas.topics import TopicNames


class Met(msgspec.Struct, frozen=True):
    """`topics.json`: the count of partitions, and each topic's id on the broker."""

    partitions: int
    ids: dict[str, str]


def meet(
    kafka: Kafka, topics: TopicNames, partitions: int, directory: Path, *, intake_anew: bool = False
) -> None:
    """Compare with what was met before, then remember; `Unavailable` names what is another topic.

    `intake_anew`: intake topics that were made anew are taken for what they are.
    """
    path = directory / "topics.json"
    now = Met(partitions, _ids(kafka, topics))
    before = _read(path)
    if before is not None:
        _compare(before, now, topics, path, intake_anew=intake_anew)
    if now != before:
        replace(path, msgspec.json.encode(now))


def _compare(before: Met, now: Met, topics: TopicNames, path: Path, *, intake_anew: bool) -> None:
    if before.partitions != now.partitions:
        raise Unavailable(
            "topics",
            f"{topics.ledger} has {now.partitions} partitions and had {before.partitions} when "
            f"{path} was written: subjects would be looked for where they are not",
            f"restore the topics with {before.partitions} partitions, or copy the first "
            f"{before.partitions} partitions of each to topics of another prefix",
        )
    anew = [name for name, known in before.ids.items() if now.ids.get(name, known) != known]
    intake = [name for name in anew if name in topics.kind_of]
    lost = [name for name in anew if name in (topics.ledger, topics.keys)]
    if lost:
        raise Unavailable(
            "topics",
            f"{', '.join(lost)} was made anew: {path.parent} was made from another topic",
            f"restore it from a backup; if all of {topics.prefix} was made anew on purpose, "
            f"remove {path.parent}",
        )
    if intake and not intake_anew:
        raise Unavailable(
            "topics",
            f"{', '.join(intake)} was made anew: what it held and was not admitted is gone, and "
            "what it holds now does not stand where the ledger goes on",
            "publish again what is missing and start: mnemolog worker --intake-anew",
        )


def _read(path: Path) -> Met | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Met)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise Unavailable(
            "topics", f"{path}: {error}", f"remove {path.parent}: it is rebuilt from the ledger"
        ) from error


def _ids(kafka: Kafka, topics: TopicNames) -> dict[str, str]:
    names = [topic.name for topic in topics.topics()]
    try:
        asked = kafka.admin.describe_topics(TopicCollection(names), request_timeout=TIMEOUT)
        return {name: str(asked[name].result().topic_id) for name in names}
    except KafkaException as error:
        raise kafka.unavailable(error) from error
