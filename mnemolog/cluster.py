"""Wiring of the cluster's processes: worker, agents, gateway, direct publisher (composition root).

All of an installation share the master secret and the registry (`keys.json`). Each process has its
own stores under the data directory, in an instance directory that it locks; followers rebuild
theirs from the ledger, so losing one loses nothing.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog
from prometheus_client import Counter, start_http_server

from gateway.application import Application
from gateway.backend import Published, Reach
from gateway.http.app import create_app
from gateway.http.server import bind, serve
from gateway.publishing import parsed_events
from mnemolog.anchoring import Anchoring
from mnemolog.doors import now_micros
from mnemolog.parts import Part, Turnstile
from processors import topics_admin
from processors.admission import Admission, Rules
from processors.agents import app as agents_app
from processors.due import due_controls
from processors.verify import verify_partitions
from processors.worker import Owned, Worker
from producers.kafka import KafkaPublisher, Placed
from projections.follower import Decided, Follower
from projections.kafka_anchors import KafkaAnchors
from projections.kafka_io import Kafka, KafkaSettings
from projections.kafka_log import KafkaLog
from projections.kafka_vault import KafkaVault
from projections.kv_rocks import RocksStore
from projections.rows import ReceiptRow
from projections.state import Reader
from schemas import answers
from schemas.bodies import Body
from schemas.codec import Codec
from schemas.entry import Entry
from schemas.errors import LedgerCorrupt, MnemologError, Unavailable
from schemas.events import Event
from schemas.kinds import RECEIPT_STATE, Decision, Kind
from schemas.master import MasterKey
from schemas.policy import Policy
from schemas.policy import load as load_policy
from schemas.principals import AGENTS, GATEWAY, LOCAL, Registry, built_in_signer
from schemas.registry import RegistryFile
from schemas.sealing import Hasher, KeySource, RandomKeys
from schemas.topics import TopicNames

log = structlog.get_logger()
INSTANCES = 64
ADMITTED = Counter("mnemolog_admitted", "Entries by kind and outcome", ("kind", "state"))
PREFIX_VARIABLE = "MNEMOLOG_TOPIC_PREFIX"


class Installation:
    """What every process of one cluster shares."""

    def __init__(self, bootstrap: str, data: Path, master: MasterKey) -> None:
        self.settings = KafkaSettings.load(bootstrap)
        self.kafka = Kafka(self.settings)
        self.topics = TopicNames(os.environ.get(PREFIX_VARIABLE, "mnemolog"))
        self.data = data
        self.master = master
        self.hasher = Hasher(master.derive("keyed-hashes"))
        self.codec = Codec()
        self.registry_file = RegistryFile(data / "keys.json", master)

    def policy(self) -> Policy:
        """The policy in force."""
        return load_policy(self.data / "policy.toml")

    def rules(self) -> Rules:
        """Policy and principals as they are now."""
        return Rules(self.policy(), self.registry_file.snapshot())

    def publisher(self, name: str, partitions: int) -> KafkaPublisher:
        """A publisher that signs as a built-in principal."""
        return KafkaPublisher(
            self.settings.client(),
            self.topics,
            built_in_signer(self.master, name),
            partitions,
            self.codec,
        )

    def log(self, partitions: int) -> KafkaLog:
        """A log for one thread."""
        return KafkaLog(self.kafka, partitions, self.topics.ledger)

    def follower(
        self, number: int, partitions: int, directory: Path, *, lock: threading.RLock, writer: bool
    ) -> Follower:
        """A follower of one partition with stores of its own."""
        reading = self.log(partitions)
        vault = KafkaVault(
            self.kafka,
            self.log(partitions),
            self.topics.keys,
            number,
            RocksStore(directory / f"p{number}" / "vault"),
            self.master.derive("record-keys"),
            publish=writer,
        )
        store = RocksStore(directory / f"p{number}" / "state")
        return Follower(
            number, reading, self.topics.ledger, Turnstile(store, lock), vault, self.hasher
        )

    def anchoring(self, partitions: int) -> Anchoring:
        """Anchors in the compacted topic."""
        return Anchoring(
            KafkaAnchors(
                self.kafka,
                self.log(partitions),
                self.topics.anchors,
                self.master.derive("anchors"),
            )
        )


@contextmanager
def instance_directory(data: Path, role: str) -> Iterator[Path]:
    """The first directory of a role that no other process holds; locked until the end."""
    for number in range(INSTANCES):
        directory = data / f"{role}-{number}"
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        try:
            yield directory
        finally:
            os.close(handle)
        return
    raise Unavailable("data", f"{INSTANCES} {role} processes use {data}", "use another --data")


def create_topics(bootstrap: str, partitions: int) -> list[str]:
    """Create what is missing; the names of the topics made."""
    kafka = Kafka(KafkaSettings.load(bootstrap))
    return topics_admin.create(kafka, _names(), partitions)


def check_topics(bootstrap: str) -> list[str]:
    """What is wrong with the topics."""
    return topics_admin.check(Kafka(KafkaSettings.load(bootstrap)), _names())


def _names() -> TopicNames:
    return TopicNames(os.environ.get(PREFIX_VARIABLE, "mnemolog"))


# The worker


def make_worker(
    installation: Installation,
    directory: Path,
    *,
    keep_intake: bool = False,
    clock: Callable[[], int] = now_micros,
    key_source: KeySource | None = None,
) -> Worker:
    """A worker over an instance directory."""
    kafka, topics = installation.kafka, installation.topics
    partitions = topics_admin.partition_count(kafka, topics)
    drawn = key_source or RandomKeys()

    def open_partition(number: int) -> Owned:
        follower = installation.follower(
            number, partitions, directory, lock=threading.RLock(), writer=True
        )
        anchoring = installation.anchoring(partitions)
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

        try:
            follower.check_log()
            follower.catch_up()
            anchoring.check(follower)
        except BaseException:
            close()
            raise
        follower.on_receipts = trigger
        return Owned(admission, follower.log, lambda: anchoring.write([follower]), close)

    return Worker(kafka, topics, open_partition, keep_intake=keep_intake)


def run_worker(
    bootstrap: str, data: Path, master: MasterKey, *, keep_intake: bool, metrics_port: int | None
) -> None:
    """Admit until SIGINT or SIGTERM; with a port, Prometheus metrics there."""
    if metrics_port is not None:
        start_http_server(metrics_port)
    installation = Installation(bootstrap, data, master)
    with instance_directory(data, "worker") as directory:
        worker = make_worker(installation, directory, keep_intake=keep_intake)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stop())
        log.info("worker started", broker=bootstrap, directory=str(directory))
        worker.run()


# The gateway


class ClusterBackend:
    """A `gateway.backend.Backend` that follows the ledger."""

    def __init__(self, installation: Installation, directory: Path) -> None:
        self._installation = installation
        self._topics = installation.topics
        self.partitions = topics_admin.partition_count(installation.kafka, installation.topics)
        self.hasher = installation.hasher
        self._publisher = installation.publisher(GATEWAY, self.partitions)
        self._stop = threading.Event()
        self._failure = ""
        changed = threading.Condition()
        self._parts = []
        for number in range(self.partitions):
            lock = threading.RLock()
            follower = installation.follower(
                number, self.partitions, directory, lock=lock, writer=False
            )
            self._parts.append(Part(follower, lock, changed))
        self._following = threading.Lock()
        self._anchoring = installation.anchoring(self.partitions)
        for part in self._parts:
            self._follow(part, first=True)
        self._thread = threading.Thread(target=self._run, name="mnemolog-follower", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        places = [(self._topics.ledger, number) for number in range(self.partitions)]
        while not self._stop.is_set():
            try:
                ends = self._installation.kafka.offsets(places, latest=True)
                moved = [
                    part
                    for part, end in zip(self._parts, ends, strict=True)
                    if part.damage is None and part.next_offset < end
                ]
                for part in moved:
                    self._follow(part)
                self._failure = ""
                if not moved:
                    self._stop.wait(0.005)
            except MnemologError as error:
                self._failure = str(error)
                log.warning("not following", error=str(error))
                self._stop.wait(0.5)

    def _follow(self, part: Part, *, first: bool = False) -> None:
        try:
            with self._following:
                if first:
                    part.follower.check_log()
                part.follower.catch_up()
                if first:
                    self._anchoring.check(part.follower)
                    part.follower.destroy_leftovers()
        except LedgerCorrupt as error:
            part.damaged(error)
        part.note()

    def policy(self) -> Policy:
        """See `Backend`."""
        return self._installation.policy()

    def registry(self) -> Registry:
        """See `Backend`."""
        return self._installation.registry_file.snapshot()

    def publish(self, events: Sequence[tuple[Kind, Event]]) -> list[Published]:
        """See `Backend`."""
        return [Published(*placed) for placed in self._publisher.publish(events)]

    @contextmanager
    def reading(self, partition: int) -> Iterator[Reader]:
        """See `Backend`."""
        with self._parts[partition].reading() as reader:
            yield reader

    def ends(self, partition: int, *kinds: Kind) -> Reach:
        """See `Backend`. An intake whose rest is only control records counts as read."""
        places = [(self._topics.ledger, partition)]
        places += [(self._topics.intake[kind], partition) for kind in kinds]
        ledger, *intake = self._installation.kafka.offsets(places, latest=True)
        return Reach(ledger, dict(zip(kinds, intake, strict=True)))

    def reach(self, partition: int, goal: Reach, timeout: float) -> None:
        """See `Backend`."""
        self._parts[partition].reach(self._deliverable(partition, goal), timeout)

    def _deliverable(self, partition: int, goal: Reach) -> Reach:
        """The goal without ends that only control records of transactions stand before."""
        part = self._parts[partition]
        behind = {
            kind: end for kind, end in goal.intake.items() if part.positions.get(kind, 0) < end
        }
        if not behind:
            return goal
        reading = self._installation.log(self.partitions)
        try:
            intake = dict(goal.intake)
            for kind, end in behind.items():
                at = part.positions.get(kind, 0)
                topic = self._topics.intake[kind]
                at = max(at, reading.start(topic, partition))
                if at < end and not reading.pending(topic, partition, at):
                    intake[kind] = part.positions.get(kind, 0)
            return Reach(goal.ledger, intake)
        finally:
            reading.close()

    def outcome(self, published: Published) -> ReceiptRow | None:
        """See `Backend`."""
        return self._parts[published.partition].recent.get((published.kind, published.offset))

    def entries(self, partition: int) -> Iterator[tuple[Entry, Body | None]]:
        """See `Backend`."""
        with self._following:
            yield from self._parts[partition].entries()

    def problems(self) -> list[str]:
        """See `Backend`."""
        found = [str(part.damage) for part in self._parts if part.damage is not None]
        if self._failure:
            found.append(self._failure)
        if not self._thread.is_alive():
            found.append("the follower has stopped; restart the process")
        return found

    def verify(self, deep: bool) -> answers.Verification:
        """See `Backend`."""
        with self._following:
            followers = [part.follower for part in self._parts]
            return verify_partitions(followers, self._anchoring.anchors, deep=deep)

    def replay(self) -> dict[str, int]:
        """See `Backend`."""
        raise Unavailable(
            "replay",
            "a gateway rebuilds its view at start",
            "stop it, remove its gateway-N directory, and start it again",
        )

    def close(self) -> None:
        """Let everything go."""
        self._stop.set()
        self._thread.join()
        for part in self._parts:
            part.follower.store.close()
            part.follower.vault.close()
            part.follower.log.close()


def run_gateway(
    bootstrap: str,
    data: Path,
    master: MasterKey,
    host: str,
    port: int,
    ready: Callable[[str], None],
) -> None:
    """Serve HTTP over a follower until SIGINT or SIGTERM."""
    installation = Installation(bootstrap, data, master)
    listener = bind(host, port)
    with instance_directory(data, "gateway") as directory:
        backend = ClusterBackend(installation, directory)
        try:
            application = Application(backend, master, now_micros)
            serve(create_app(application, backend.registry, now_micros), listener, ready)
        finally:
            backend.close()


# The agents


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


# Direct publishing


class BrokerPublisher:
    """Publishes to the intake topics as `local`, without a gateway."""

    def __init__(self, installation: Installation, partitions: int) -> None:
        self._publisher = installation.publisher(LOCAL, partitions)

    def publish(self, events: Sequence[dict[str, Any]], wait: float) -> list[answers.Receipt]:
        """Receipts in order: `received`, or `rejected` for a fault in the event itself."""
        receipts, good = parsed_events(list(events), LOCAL, now_micros)
        published = self._publisher.publish(good)
        given = iter(zip(published, good, strict=True))
        return [_received(*next(given)) if receipt is None else receipt for receipt in receipts]


def _received(place: Placed, event: tuple[Kind, Event]) -> answers.Receipt:
    kind, said = event
    return answers.Receipt(
        event_id=said.envelope.event_id,
        kind=kind.word,
        token=f"{place.kind}:{place.offset}",
        state="received",
        reason=None,
        entry=None,
    )


@contextmanager
def broker_publisher(bootstrap: str, master: MasterKey) -> Iterator[BrokerPublisher]:
    """A publisher for one call."""
    installation = Installation(bootstrap, Path(), master)
    partitions = topics_admin.partition_count(installation.kafka, installation.topics)
    try:
        yield BrokerPublisher(installation, partitions)
    finally:
        installation.kafka.close()
