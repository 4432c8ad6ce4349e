"""Wiring of the partition worker."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog
from prometheus_client import Counter, start_http_server

from mnemolog.anchoring import check_folded
from mnemolog.cluster.installation import Installation, instance_directory
from mnemolog.doors import now_micros
from mnemolog.folding import catch_up
from processors import topics_admin
from processors.admission import Admission
from processors.worker import Owned, Worker
from projections.follower import Decided
from schemas.kinds import RECEIPT_STATE, Decision, Kind
from schemas.master import MasterKey
from schemas.sealing import KeySource, RandomKeys

log = structlog.get_logger()


ADMITTED = Counter("mnemolog_admitted", "Entries by kind and outcome", ("kind", "state"))


def make_worker(
    installation: Installation,
    directory: Path,
    *,
    keep_intake: bool = False,
    intake_anew: bool = False,
    clock: Callable[[], int] = now_micros,
    key_source: KeySource | None = None,
) -> Worker:
    """A worker over an instance directory."""
    kafka, topics = installation.kafka, installation.topics
    partitions = topics_admin.partition_count(kafka, topics)
    installation.meet_topics(partitions, directory, intake_anew=intake_anew)
    drawn = key_source or RandomKeys()

    def open_partition(number: int) -> Owned:
        follower = installation.follower(
            number, partitions, directory, lock=threading.RLock(), writer=True
        )
        anchoring = installation.anchoring(partitions, directory)
        admission = Admission(
            follower, topics, installation.codec, drawn, clock, installation.rules
        )

        def trigger(decided: Sequence[Decided]) -> None:
            for one in decided:
                ADMITTED.labels(
                    Kind(one.kind).word, RECEIPT_STATE[Decision(one.receipt.decision)]
                ).inc()
            if any(one.receipt.decision == Decision.PARKED for one in decided):
                kafka.send(topics.triggers, number, [(None, b"awaiting", ())])

        def close() -> None:
            follower.store.close()
            follower.vault.close()
            follower.log.close()
            anchoring.close()

        try:
            check_folded(follower)
            catch_up(follower)
            anchoring.check(follower)
        except BaseException:
            close()
            raise
        follower.on_receipts = trigger
        return Owned(admission, follower.log, lambda: anchoring.write([follower]), close)

    return Worker(kafka, topics, open_partition, keep_intake=keep_intake, intake_anew=intake_anew)


def run_worker(
    bootstrap: str,
    data: Path,
    master: MasterKey,
    *,
    keep_intake: bool,
    intake_anew: bool,
    metrics_port: int | None,
) -> None:
    """Admit until SIGINT or SIGTERM; with a port, Prometheus metrics there."""
    if metrics_port is not None:
        start_http_server(metrics_port)
    installation = Installation(bootstrap, data, master)
    with instance_directory(data, "worker") as directory:
        worker = make_worker(
            installation, directory, keep_intake=keep_intake, intake_anew=intake_anew
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stop())
        log.info("worker started", broker=bootstrap, directory=str(directory))
        worker.run()
