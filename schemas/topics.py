"""Topics and their settings (SPEC §2 "Kinds and topics", ARCHITECTURE "Topics").

Rules of this module, all pure:
- One intake topic a kind, one ledger, and five topics beside them; all have the same count of
  partitions, so that a subject's records meet in one partition number everywhere.
- What holds memory is kept without limit; intake and ledger carry the log's time, not a writer's.
- A topic that differs from this page is named with what to type; nothing is altered by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from schemas.errors import Unavailable
from schemas.kinds import Kind

DEFAULT_PREFIX = "mnemolog"
DEFAULT_PARTITIONS = 4
INTAKE_MAX_BYTES = 2 * 1024 * 1024
LEDGER_MAX_BYTES = 4 * 1024 * 1024

_DAY_MS = 86_400_000
_PREFIX = re.compile(r"[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,199}")

_FOR_EVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_LOG_TIME = {"message.timestamp.type": "LogAppendTime"}
_COMPACTED = {"cleanup.policy": "compact", "max.compaction.lag.ms": "3600000"}

_WHY = {
    "cleanup.policy": "else records are lost or never cleaned",
    "retention.ms": "else records are deleted by age",
    "retention.bytes": "else records are deleted by size",
    "message.timestamp.type": "barriers compare the log's own times",
    "max.message.bytes": "else the largest records are refused",
    "max.compaction.lag.ms": "else erased keys stay in the log",
}


class Topic(msgspec.Struct, frozen=True):
    """A topic's name and the settings it must have, in Kafka's words."""

    name: str
    config: Mapping[str, str]


class TopicNames:
    """The topics of one installation, told from another's by the prefix."""

    def __init__(self, prefix: str = DEFAULT_PREFIX) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise Unavailable(
                "topics",
                f"{prefix!r} cannot begin a topic's name",
                "use 1 to 200 of the characters a-z A-Z 0-9 . _ - and no leading dot",
            )
        self.prefix = prefix
        self.intake: dict[Kind, str] = {kind: f"{prefix}.{kind.word}s" for kind in Kind}
        self.kind_of: dict[str, Kind] = {name: kind for kind, name in self.intake.items()}
        self.ledger = f"{prefix}.ledger"
        self.rejections = f"{prefix}.rejections"
        self.triggers = f"{prefix}.triggers"
        self.keys = f"{prefix}.keys"
        self.anchors = f"{prefix}.anchors"
        self.checkpoints = f"{prefix}.checkpoints"

    def topics(self) -> tuple[Topic, ...]:
        """Every topic with its settings, intake first, in the order of the kinds' numbers."""
        intake = {**_FOR_EVER, **_LOG_TIME, "max.message.bytes": str(INTAKE_MAX_BYTES)}
        ledger = {**_FOR_EVER, **_LOG_TIME, "max.message.bytes": str(LEDGER_MAX_BYTES)}
        return (
            *(Topic(name, intake) for name in self.intake.values()),
            Topic(self.ledger, ledger),
            Topic(self.rejections, _kept(30)),
            Topic(self.triggers, _kept(7)),
            Topic(self.keys, _COMPACTED),
            Topic(self.anchors, _COMPACTED),
            Topic(self.checkpoints, _COMPACTED),
        )


def differences(
    topic: Topic, actual: Mapping[str, str], partitions: tuple[int, int] | None = None
) -> list[str]:
    """What is wrong with a topic as it is, a sentence each with the remedy; empty if nothing.

    `actual`: its settings as the broker tells them; `partitions`: (as they are, as they must be).
    """
    found = []
    if partitions is not None and partitions[0] != partitions[1]:
        found.append(
            f"{topic.name} has {partitions[0]} partitions and must have {partitions[1]}: the count "
            "is fixed at creation and decides where a subject lives; use the count it was created "
            "with, or another prefix"
        )
    for setting, wanted in topic.config.items():
        is_now = actual.get(setting)
        if is_now is None or not _agrees(setting, wanted, is_now):
            found.append(
                f"{topic.name}: {setting} is {is_now or 'not told by the broker'} and must be "
                f"{wanted} ({_WHY[setting]}); set it with: kafka-configs.sh "
                "--bootstrap-server HOST:PORT --alter --entity-type topics "
                f"--entity-name {topic.name} --add-config {setting}={wanted}"
            )
    return found


def _agrees(setting: str, wanted: str, is_now: str) -> bool:
    if setting == "max.message.bytes":
        return is_now.isdecimal() and int(is_now) >= int(wanted)
    if setting == "max.compaction.lag.ms":
        return is_now.isdecimal() and int(is_now) <= int(wanted)
    return is_now == wanted


def _kept(days: int) -> dict[str, str]:
    return {"cleanup.policy": "delete", "retention.ms": str(days * _DAY_MS)}
