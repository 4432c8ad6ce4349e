"""Wiring of the slow agents."""

from __future__ import annotations

import threading
from pathlib import Path

import structlog

from mnemolog.cluster.installation import Installation, instance_directory
from mnemolog.doors import now_micros
from processors import topics_admin
from processors.agents import app as agents_app
from processors.due import due_controls
from schemas.events import Event
from schemas.kinds import Kind
from schemas.master import MasterKey
from schemas.principals import AGENTS

log = structlog.get_logger()


def run_agents(bootstrap: str, data: Path, master: MasterKey) -> None:
    """Run the Faust agents until SIGINT or SIGTERM."""
    installation = Installation(bootstrap, data, master)
    partitions = topics_admin.partition_count(installation.kafka, installation.topics)
    with instance_directory(data, "agents") as directory:
        sweep = Sweep(installation, partitions, directory)
        application = agents_app.build(
            bootstrap,
            installation.topics.triggers,
            sweep,
            data_dir=str(directory / "faust"),
            broker_credentials=agents_app.credentials(installation.settings.extra),
        )
        log.info("agents started", broker=bootstrap, directory=str(directory))
        agents_app.run(application)


class Sweep:
    """Publishes what is due by clock, from read-only followers; one thread at a time."""

    def __init__(self, installation: Installation, partitions: int, directory: Path) -> None:
        self._installation = installation
        self._partitions = partitions
        self._lock = threading.Lock()
        installation.meet_topics(partitions, directory)
        self._publisher = installation.publisher(AGENTS, partitions)
        self._followers = [
            installation.follower(
                number, partitions, directory, lock=threading.RLock(), writer=False
            )
            for number in range(partitions)
        ]

    def __call__(self) -> int:
        """How many controls were published."""
        published = 0
        with self._lock:
            policy = self._installation.policy()
            for follower in self._followers:
                follower.check_log()
                follower.catch_up()
                controls = due_controls(follower.reader, now_micros(), policy)
                if controls:
                    events: list[tuple[Kind, Event]] = [(Kind.CONTROL, one) for one in controls]
                    published += len(self._publisher.publish(events))
        return published
