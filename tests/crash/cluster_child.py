"""A worker of the cluster in a process that dies where it is told.

Wired by its composition root, `make_worker`; the ports it makes and its consumer are fitted with a
fuse. Each run joins a consumer group of its own, so that none waits for the dead one's session.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer

from mnemolog.cluster import Installation, installation, make_worker
from mnemolog.cluster.installation import instance_directory
from processors.admission import Rules
from processors.worker import GROUP
from projections.kafka_io import Kafka, Sent
from projections.ports import Headers
from schemas.master import MasterKey
from tests.crash.feed import callers
from tests.crash.fuse import Fuse, fused

POINTS = (
    "intake.after",  # before the keys
    "keys.after",  # before the ledger
    "produce.between",  # half of a batch acknowledged
    "append.after",
    "read-back.after",  # before the store
    "commit.after",
    "erase.after",
    "anchor.before",
    "anchor.after",
)


class Plan(NamedTuple):
    """Where a worker dies, the group it joins, and whether the intake outlives its admission."""

    point: str
    n: int
    group: str
    keep_intake: bool


class Told(Installation):
    """An installation with the model's adapters as principals."""

    def rules(self) -> Rules:
        return Rules(self.policy(), callers(self.master))


def fit(fuse: Fuse, own_group: str, ready: Path) -> None:
    """Fit what the composition root makes, in this process, with points."""

    class Client(Kafka):
        """Kafka with a fuse in the worker's consumer and in the middle of a produced batch."""

        def consumer(self, group: str, **own: Any) -> Any:
            made = super().consumer(own_group if group == GROUP else group, **own)
            return _Watched(made, fuse, ready) if group == GROUP else made

        def send(
            self,
            topic: str,
            partition: int,
            records: Sequence[tuple[bytes | None, bytes | None, Headers]],
        ) -> list[Sent]:
            if not topic.endswith(".ledger") or fuse.point != "produce.between":
                return super().send(topic, partition, records)
            half = (len(records) + 1) // 2
            sent = super().send(topic, partition, records[:half])
            fuse.passing("produce.between")
            return sent + super().send(topic, partition, records[half:])

    def of_log(log: Any, _: Path | None) -> None:
        def ledger(topic: str, *_: Any) -> str | None:
            return "append" if topic.endswith(".ledger") else None

        fuse.guard(log, "append", ledger)
        fuse.guard(log, "read", lambda *asked: "read-back" if ledger(*asked) else None)
        fuse.guard(log, "truncate", "drop")

    def of_vault(vault: Any, _: Path | None) -> None:
        fuse.guard(vault, "put", "keys")
        fuse.guard(vault, "erase", "erase")

    def of_store(store: Any, path: Path | None) -> None:
        if path is not None and path.name == "state":
            fuse.guard(store, "write", "commit")

    def of_anchors(anchors: Any, _: Path | None) -> None:
        fuse.guard(anchors, "write", "anchor")

    root: Any = installation
    root.Kafka = Client
    for name, part in (
        ("KafkaLog", of_log),
        ("KafkaVault", of_vault),
        ("RocksStore", of_store),
        ("KafkaAnchors", of_anchors),
    ):
        setattr(root, name, fused(getattr(root, name), part))


class _Watched:
    """A consumer that passes a point when records came, and says when it has partitions."""

    def __init__(self, consumer: Consumer, fuse: Fuse, ready: Path) -> None:
        self._consumer: Any = consumer
        self._fuse = fuse
        self._ready = ready

    def consume(self, limit: int, timeout: float) -> Any:
        messages = self._consumer.consume(limit, timeout)
        if any(message.error() is None for message in messages):
            self._fuse.passing("intake.after")
        if not self._ready.exists() and self._consumer.assignment():
            self._ready.touch()
        return messages

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)


def main(bootstrap: str, data: Path, prefix: str, plan: Plan) -> None:
    """Admit until SIGTERM, or until the fuse burns."""
    os.environ["MNEMOLOG_TOPIC_PREFIX"] = prefix
    fit(Fuse(plan.point, plan.n), plan.group, data / f"{plan.group}.ready")
    told = Told(bootstrap, data, MasterKey.load(data, os.environ))
    with instance_directory(data, "worker") as directory:
        worker = make_worker(told, directory, keep_intake=plan.keep_intake)
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        worker.run()
