"""A worker of the cluster in a process that dies, or is stopped, where it is told.

Wired by its composition root, `make_worker`; the ports it makes and its consumer are fitted with a
fuse. A run joins the consumer group that it is told: one of its own does not wait for the session
of a dead one's to end.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Message

from mnemolog import folding
from mnemolog.cluster import Installation, installation, make_worker
from mnemolog.cluster.installation import instance_directory
from processors.admission import Rules
from projections.kafka_io import Kafka, Sent
from projections.ports import Headers
from schemas.master import MasterKey
from tests.crash.aside import keep_dropped
from tests.crash.child import only_errors
from tests.crash.feed import callers
from tests.crash.fuse import Fuse, fused

POINTS = (
    "intake.after",  # before the keys
    "keys.after",  # before the ledger
    "anchor.before",
    "produce.between",  # half of a batch acknowledged
    "append.after",
    "anchor.after",
    "read-back.after",  # before the store
    "commit.after",
    "erase.after",
)


class Plan(NamedTuple):
    """A worker: its consumer group, and where (the n-th time) it sends itself which signal.

    With `twice`, its consumer is given every batch again, before the next one; `quiet`, it logs
    errors alone.
    """

    group: str
    point: str = ""
    n: int = 1
    sent: int = signal.SIGKILL
    keep_intake: bool = True
    twice: bool = False
    quiet: bool = False


class Told(Installation):
    """An installation with the model's adapters as principals."""

    def rules(self) -> Rules:
        return Rules(self.policy(), callers(self.master))


def fit(fuse: Fuse, plan: Plan, ready: Path) -> None:
    """Fit what the composition root makes, in this process, with points."""

    class Client(Kafka):
        """Kafka with a fuse in the worker's consumer and in the middle of a produced batch."""

        def consumer(self, group: str, **own: Any) -> Any:
            if not group.endswith("-workers"):
                return super().consumer(group, **own)
            return _Watched(super().consumer(plan.group, **own), fuse, ready, plan.twice)

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
        keep_dropped(log, ready.with_suffix(".dropped"))
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
    for module, name, part in (
        (root, "KafkaLog", of_log),
        (root, "KafkaVault", of_vault),
        (folding, "RocksStore", of_store),
        (root, "KafkaAnchors", of_anchors),
    ):
        setattr(module, name, fused(getattr(module, name), part))


class _Watched:
    """A consumer that passes a point when records came, and says when it has partitions."""

    def __init__(self, consumer: Consumer, fuse: Fuse, ready: Path, twice: bool) -> None:
        self._consumer: Any = consumer
        self._fuse = fuse
        self._ready = ready
        self._twice = twice
        self._before: list[Message] = []

    def consume(self, limit: int, timeout: float) -> list[Message]:
        messages: list[Message] = self._consumer.consume(limit, timeout)
        if self._twice and messages:
            messages, self._before = [*self._before, *messages], messages
        if any(message.error() is None for message in messages):
            self._fuse.passing("intake.after")
        if not self._ready.exists() and self._consumer.assignment():
            self._ready.touch()
        return messages

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)


def main(bootstrap: str, data: Path, prefix: str, plan: Plan) -> None:
    """Admit until SIGTERM, or until the fuse burns.

    Files named after group and pid tell: `.ready` that it has partitions, `.failed` with which
    error it ended, `.stack` where it stood at SIGUSR1, `.dropped` what intake it dropped.
    """
    os.environ["MNEMOLOG_TOPIC_PREFIX"] = prefix
    if plan.quiet:
        only_errors()
    told = data / f"{plan.group}-{os.getpid()}.ready"
    fit(Fuse(plan.point, plan.n, plan.sent), plan, told)
    faulthandler.register(signal.SIGUSR1, told.with_suffix(".stack").open("w"))
    try:
        installed = Told(bootstrap, data, MasterKey.load(data, os.environ))
        with instance_directory(data, "worker") as directory:
            worker = make_worker(installed, directory, keep_intake=plan.keep_intake)
            signal.signal(signal.SIGTERM, lambda *_: worker.stop())
            worker.run()
    except BaseException:
        told.with_suffix(".failed").write_text(traceback.format_exc())
        raise
