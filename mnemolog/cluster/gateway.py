"""Wiring of the gateway: HTTP over followers of the ledger."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import structlog

from gateway.application import Application
from gateway.backend import Published, Reach
from gateway.http.app import create_app
from gateway.http.server import bind, serve
from mnemolog.anchoring import check_folded
from mnemolog.cluster.deliverable import PLAIN_S, Deliverable
from mnemolog.cluster.installation import Installation, instance_directory
from mnemolog.doors import now_micros
from mnemolog.folding import catch_up
from mnemolog.parts import Part
from mnemolog.verdicts import Verdicts
from processors import topics_admin
from processors.verify import verify_partitions
from projections.kafka_log import KafkaLog
from projections.rows import ReceiptRow
from projections.state import Reader
from schemas import answers
from schemas.bodies import Body
from schemas.entry import Entry
from schemas.errors import LedgerCorrupt, MnemologError, Unavailable, ViewBehind
from schemas.events import Event
from schemas.kinds import Kind
from schemas.master import MasterKey
from schemas.policy import Policy
from schemas.principals import GATEWAY, Registry

log = structlog.get_logger()

LOOK_S = 0.002  # between two looks at what was fetched
ASK_S = 0.5  # between two questions to the brokers
SHORT_S = 30.0  # a ledger that ends too early for so long was cut
PATIENCE_S = 4.0  # with a broker that does not answer, before it is told of


class ClusterBackend:
    """A `gateway.backend.Backend` that follows the ledger."""

    def __init__(self, installation: Installation, directory: Path) -> None:
        self._installation = installation
        self._topics = installation.topics
        self.partitions = topics_admin.partition_count(installation.kafka, installation.topics)
        installation.meet_topics(self.partitions, directory)
        self.hasher = installation.hasher
        self._publisher = installation.publisher(GATEWAY, self.partitions)
        self._stop = threading.Event()
        self._failure = ""
        self._short_since: dict[int, float] = {}
        changed = threading.Condition()
        self._parts = []
        for number in range(self.partitions):
            lock = threading.RLock()
            follower = installation.follower(
                number, self.partitions, directory, lock=lock, writer=False
            )
            self._parts.append(Part(follower, lock, changed))
        self._deliverable = Deliverable(installation, self.partitions)
        self._following = threading.Lock()
        self._anchoring = installation.anchoring(self.partitions, directory)
        self._checkpoints = installation.checkpoints(self.partitions)
        self._verdicts = Verdicts(directory / "damage.json")
        for part in self._parts:
            with part.stopping():
                self._take_up(part)
        self._verdicts.stop(self._parts)
        self._thread = threading.Thread(target=self._run, name="mnemolog-follower", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asked = float("-inf")
        while not self._stop.is_set():
            try:
                if time.monotonic() - asked > ASK_S:
                    ends = self._watched_ends()
                    asked = time.monotonic()
                else:
                    with self._following:
                        ends = [self._fetched_end(part) for part in self._parts]
                moved = [
                    (part, end)
                    for part, end in zip(self._parts, ends, strict=True)
                    if part.damage is None and part.next_offset < end
                ]
                for part, end in moved:
                    self._follow(part, end)
                self._failure = ""
                if not moved:
                    self._stop.wait(LOOK_S)
            except MnemologError as error:
                self._failure = str(error)
                log.warning("not following", error=str(error))
                self._stop.wait(0.5)

    def _fetched_end(self, part: Part) -> int:
        """How far a partition's ledger is known to reach, without asking."""
        log = part.follower.log
        assert isinstance(log, KafkaLog), "a gateway follows a cluster's ledger"
        return log.fetched_end(self._topics.ledger, part.follower.partition, part.next_offset)

    def _watched_ends(self) -> list[int]:
        """How far the brokers say that each ledger reaches: not less than what was folded."""
        places = [(self._topics.ledger, number) for number in range(self.partitions)]
        ends = self._installation.kafka.offsets(places, latest=True, patience=PATIENCE_S)
        for part, end in zip(self._parts, ends, strict=True):
            if part.damage is None:
                self._watch(part, end)
        return ends

    def _watch(self, part: Part, end: int) -> None:
        """Stop reads of a ledger that ends before what was folded.

        Brokers that take over from each other may tell an old end for a moment; another topic under
        the same name is told by its identity at once.
        """
        number, folded = part.follower.partition, part.next_offset
        if end >= folded:
            self._short_since.pop(number, None)
            return
        since = self._short_since.setdefault(number, time.monotonic())
        detail = f"the log ends {folded - end} records before what was folded"
        if self._installation.log(self.partitions).identity() != part.follower.log.identity():
            part.damaged(LedgerCorrupt(number, 0, "another_log", f"{detail}: it was made anew"))
        elif time.monotonic() - since > SHORT_S:
            count = part.follower.checkpoint().count
            part.damaged(LedgerCorrupt(number, count, "truncated", detail))

    def _follow(self, part: Part, end: int) -> None:
        with self._following, part.stopping():
            part.follower.catch_up(end=end)
            part.note()

    def _take_up(self, part: Part) -> None:
        """Fold on, unless the ledger is not what it was."""
        check_folded(part.follower)
        catch_up(part.follower)
        self._anchoring.check(part.follower)
        part.follower.destroy_leftovers()
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
        ledger, *intake = self._installation.kafka.offsets(places, latest=True, patience=PATIENCE_S)
        return Reach(ledger, dict(zip(kinds, intake, strict=True)))

    def reach(self, partition: int, goal: Reach, timeout: float) -> None:
        """See `Backend`."""
        part, pause = self._parts[partition], PLAIN_S
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            try:
                part.reach(self._deliverable.known(partition, goal), max(0.0, min(left, pause)))
                return
            except ViewBehind:
                learnt = self._deliverable.look(partition, goal, part.positions)
                if left <= pause and not learnt:
                    raise
            pause *= 2

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

    def verify(self, deep: bool, against: answers.Checkpoint | None = None) -> answers.Verification:
        """See `Backend`. What the checkpoints' topic keeps is held against the ledger, too."""
        with self._following:
            kept = self._checkpoints.all()
            followers = [part.follower for part in self._parts]
            found = verify_partitions(
                followers,
                self._anchoring.anchors,
                deep=deep,
                policy=self.policy(),
                remembered=self._anchoring.remembered,
                against=kept if against is None else (*kept, against),
            )
            return self._verdicts.settle(found, self._parts, deep, self._take_up)

    def heads(self) -> tuple[str, list[answers.PartitionHead]]:
        """See `Backend`."""
        with self._following:
            identity = self._parts[0].follower.log.identity()
            return identity, [part.head() for part in self._parts]

    def keep(self, checkpoint: answers.Checkpoint) -> None:
        """See `Backend`: in a compacted topic."""
        self._checkpoints.keep(checkpoint)

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
        self._anchoring.close()
        self._checkpoints.close()


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
