"""The embedded runtime: log, admission, projections and schedule in one process (composition root).

One thread admits for all partitions, in batches made smaller while somebody waits; readers take a
partition's lock only while they read, admission only while it commits. A partition whose ledger is
damaged is named and no longer read; the others go on. While nothing can be written (a full disk)
nothing is acknowledged and the process is not ready; it tries by itself until writing goes on, and
then starts from what log and stores hold, as after a crash.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog

from gateway.backend import Published, Reach
from mnemolog.anchoring import Anchoring, check_folded
from mnemolog.backlog import Backlog
from mnemolog.data_directory import DataDirectory
from mnemolog.folding import catch_up, open_state, rows_key
from mnemolog.parts import RECENT, Part, Turn, Turnstile
from mnemolog.verdicts import Verdicts
from processors.admission import Admission, Rules
from processors.apart import Apart, Place, State
from processors.due import due_controls
from processors.verify import verify_partitions
from projections.anchors import FileAnchors
from projections.follower import Follower
from projections.log_rocks import RocksLog
from projections.ports import Headers, KeyValueStore, LogRecord
from projections.rows import ReceiptRow
from projections.state import Reader
from projections.vault import RocksVault
from schemas import answers
from schemas.bodies import Body
from schemas.codec import Codec
from schemas.entry import Entry
from schemas.errors import MnemologError, Unavailable
from schemas.events import Event, is_barrier, runs_between_barriers
from schemas.kinds import Kind
from schemas.master import MasterKey
from schemas.policy import Policy
from schemas.policy import load as load_policy
from schemas.principals import AGENTS, GATEWAY, Registry, built_in_signer
from schemas.registry import RegistryFile
from schemas.scope import partition_of
from schemas.sealing import Hasher, KeySource, RandomKeys
from schemas.signing import Signer
from schemas.topics import TopicNames

log = structlog.get_logger()

BATCH = 500
SCHEDULE_S = 1.0
RETRY_S = 1.0
ANCHOR_S = 1.0


class _Admitting(Part):
    """A partition that is admitted to in this process."""

    def __init__(
        self,
        follower: Follower,
        admission: Admission,
        lock: threading.RLock,
        changed: threading.Condition,
    ) -> None:
        super().__init__(follower, lock, changed)
        self.admission = admission

    def go_on_with(self, admission: Admission) -> None:
        """Admit into, and read from, a rebuilt store."""
        self.admission = admission
        self.switch(admission.follower)

    def close(self) -> None:
        """Let the store go."""
        self.follower.store.close()


class Embedded:
    """A `gateway.backend.Backend` over a data directory. Close it to let the directory go."""

    def __init__(
        self,
        directory: DataDirectory,
        master: MasterKey,
        *,
        clock: Callable[[], int] | None = None,
        key_source: KeySource | None = None,
        keep_intake: bool = False,
        start: bool = True,
        backlog: int = RECENT,
    ) -> None:
        self._directory = directory
        self._clock = clock or (lambda: time.time_ns() // 1000)
        self._keys = key_source or RandomKeys()
        self._keep_intake = keep_intake
        self._changed = threading.Condition()
        self._parts: list[_Admitting] = []
        self._turn = Turn()
        self._trouble: Unavailable | None = None
        self._held = ExitStack()  # closes what is open, last first, whichever of it fails to close
        directory.acquire()
        self._held.callback(directory.release)
        try:
            self._open(master)
            self._resume(self._parts)
        except BaseException:
            self._held.close()
            raise
        self._admitting = threading.Lock()
        self._backlog = Backlog(self._undecided, backlog)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        if start:
            self.start()

    # Opening

    def _open(self, master: MasterKey) -> None:
        directory = self._directory
        manifest = directory.manifest()
        path = directory.path
        self.partitions = manifest.partitions
        self.hasher = Hasher(master.derive("keyed-hashes"))
        self.topics = TopicNames()
        self._codec = Codec()
        self._registry_file = RegistryFile(path / "keys.json", master)
        self._policy_path = path / "policy.toml"
        self._policy = load_policy(self._policy_path)
        self._policy_stamp = _stamp(self._policy_path)
        self._master = master
        self._gateway_signer = built_in_signer(master, GATEWAY)
        self._agents_signer = built_in_signer(master, AGENTS)
        fresh = not directory.opened
        self.log = RocksLog(
            path / "log", self.partitions, lambda: self._clock() // 1000, create=fresh
        )
        self._held.callback(self.log.close)
        self.vault = RocksVault(path / "vault", master.derive("record-keys"), create=fresh)
        self._held.callback(self.vault.close)
        directory.mark_opened()
        self._apart = Apart(
            Place(
                str(path / "log"),
                self.partitions,
                self.topics.ledger,
                str(path / "vault"),
                master.derive("record-keys"),
                master.derive("keyed-hashes"),
            ),
            self._state,
        )
        self.anchoring = Anchoring(
            *(
                FileAnchors(at, master.derive("anchors"), manifest.id)
                for at in (directory.anchors_path(), directory.anchored_path())
            )
        )
        self._held.callback(self.anchoring.close)
        self._verdicts = Verdicts(path / "damage.json")
        generation = directory.generation()
        _remove_others(generation)
        if not generation.exists():
            self._verdicts.rebuilt(())
        for number in range(self.partitions):
            lock = threading.RLock()
            at = generation / f"p{number}"
            store = open_state(at, directory.rebuild, master, number, known=not fresh)
            admission = self._admission(number, Turnstile(store, lock))
            part = _Admitting(admission.follower, admission, lock, self._changed)
            self._held.callback(part.close)
            self._parts.append(part)

    def _state(self, number: int) -> State:
        path = self._directory.generation() / f"p{number}"
        return State(number, str(path), rows_key(self._master, number))

    def _follower(self, number: int, store: KeyValueStore) -> Follower:
        return Follower(number, self.log, self.topics.ledger, store, self.vault, self.hasher)

    def _admission(self, number: int, store: KeyValueStore) -> Admission:
        return Admission(
            self._follower(number, store),
            self.topics,
            self._codec,
            self._keys,
            self._now,
            self._rules,
        )

    def _now(self) -> int:
        """The time of the next entry: between two entries those who ask go first."""
        self._turn.give_way()
        return self._clock()

    def _resume(self, parts: Sequence[_Admitting]) -> None:
        for part in parts:
            with part.stopping():
                self._take_up(part)
        self._verdicts.stop(self._parts)

    def _take_up(self, part: _Admitting) -> None:
        """Fold on and settle what is due, unless the ledger is not what it was."""
        check_folded(part.follower)
        catch_up(part.follower)
        self.anchoring.check(part.follower)
        part.admission.resume()
        part.note()
        self._drop_admitted(part)

    def _rules(self) -> Rules:
        return Rules(self.policy(), self.registry())

    # The backend's promises

    def policy(self) -> Policy:
        """The policy in force; the file is read again when it changes."""
        stamp = _stamp(self._policy_path)
        if stamp != self._policy_stamp:
            self._policy = load_policy(self._policy_path)
            self._policy_stamp = stamp
        return self._policy

    def registry(self) -> Registry:
        """The principals as they are now."""
        return self._registry_file.snapshot()

    def publish(self, events: Sequence[tuple[Kind, Event]]) -> list[Published]:
        """Append to the intake, in order; durable when it returns."""
        return self._append(events, system=False)

    def _append(self, events: Sequence[tuple[Kind, Event]], *, system: bool) -> list[Published]:
        if self._stop.is_set():
            raise Unavailable("log", "the process is closing", "open it again")
        signer = self._agents_signer if system else self._gateway_signer
        counts = Counter(partition_of(event.envelope.scope, self.partitions) for _, event in events)
        published: list[Published] = []
        with self._backlog.room(counts):
            for run in runs_between_barriers(events):
                if is_barrier(run[0][1]):
                    published += self._append_barrier(run, signer)
                else:
                    published += self._append_run(run, signer)
        return published

    def _append_barrier(self, run: Sequence[tuple[Kind, Event]], signer: Signer) -> list[Published]:
        """Append and let its millisecond pass, so that what comes next is not covered."""
        with self._admitting:  # else it may be admitted and dropped before its time is read
            (barrier,) = self._append_run(run, signer)
            topic = self.topics.intake[barrier.kind]
            (record,) = self.log.read(topic, barrier.partition, barrier.offset, 1)
        while self._clock() // 1000 <= record.append_ms:
            time.sleep(0.0005)
        return [barrier]

    def _append_run(self, events: Sequence[tuple[Kind, Event]], signer: Signer) -> list[Published]:
        """One append of everything: all of it or nothing."""
        batches: dict[tuple[str, int], list[tuple[bytes, Headers]]] = {}
        places: list[tuple[str, int, Kind]] = []
        for kind, event in events:
            topic = self.topics.intake[kind]
            partition = partition_of(event.envelope.scope, self.partitions)
            payload = self._codec.encode(kind, event)
            signed = (payload, tuple(signer.sign(kind, payload)))
            batches.setdefault((topic, partition), []).append(signed)
            places.append((topic, partition, kind))
        try:
            offsets = self.log.append_all(batches)
        except Unavailable as error:
            self._in_trouble(error)
            raise
        following = {place: iter(numbers) for place, numbers in offsets.items()}
        return [
            Published(partition, kind, next(following[topic, partition]))
            for topic, partition, kind in places
        ]

    def _undecided(self, partition: int) -> int:
        """How many events a partition has taken and not decided."""
        at = self._parts[partition].positions
        return sum(
            self.log.end(topic, partition) - at.get(kind, 0)
            for kind, topic in self.topics.intake.items()
        )

    @contextmanager
    def reading(self, partition: int) -> Iterator[Reader]:
        """A consistent view of a partition while admission's commits wait."""
        with self._turn.asking(), self._parts[partition].reading() as reader:
            yield reader

    def ends(self, partition: int, *kinds: Kind) -> Reach:
        """The log's own ends."""
        return Reach(
            self.log.end(self.topics.ledger, partition),
            {kind: self.log.end(self.topics.intake[kind], partition) for kind in kinds},
        )

    def reach(self, partition: int, goal: Reach, timeout: float) -> None:
        """Wait until a partition's view has folded that much."""
        self._parts[partition].reach(goal, timeout)

    def outcome(self, published: Published) -> ReceiptRow | None:
        """The receipt of a recently decided event."""
        return self._parts[published.partition].recent.get((published.kind, published.offset))

    def entries(self, partition: int) -> Iterator[tuple[Entry, Body | None]]:
        """The folded part of a partition's ledger."""
        return self._parts[partition].entries()

    def problems(self) -> list[str]:
        """Why this process is not ready."""
        found = [str(part.damage) for part in self._parts if part.damage is not None]
        if self._trouble is not None:
            found.append(str(self._trouble))
        if self._threads and not all(thread.is_alive() for thread in self._threads):
            found.append("a background thread has stopped; restart the process")
        return found

    def verify(self, deep: bool, against: answers.Checkpoint | None = None) -> answers.Verification:
        """Check ledger and anchors; `deep` also bodies, witnesses and projections."""
        with self._admitting:
            found = verify_partitions(
                [part.follower for part in self._parts],
                self.anchoring.anchors,
                deep=deep,
                policy=self.policy(),
                remembered=self.anchoring.remembered,
                against=() if against is None else (against,),
                apart=self._apart,
            )
            return self._verdicts.settle(found, self._parts, deep, self._take_up)

    def trust_as_found(self) -> None:
        """Forget every anchor: what stands in the ledger is anchored anew, as on first use."""
        with self._admitting:
            for number in range(self.partitions):
                self.anchoring.forget(number)

    def heads(self) -> tuple[str, list[answers.PartitionHead]]:
        """The log's identity and where every partition stands."""
        with self._admitting:
            return self.log.identity(), [part.head() for part in self._parts]

    def keep(self, checkpoint: answers.Checkpoint) -> None:
        """Nothing: who asked for it keeps it, elsewhere than here."""

    def replay(self, progress: Callable[[int, int], None] | None = None) -> dict[str, int]:
        """Rebuild the projections into a fresh generation and switch to it; reads go on."""
        old = self._directory.generation()
        new = old.parent / str(int(old.name) + 1)
        shutil.rmtree(new, ignore_errors=True)
        rebuild = self._directory.rebuild
        stores = [
            open_state(new / f"p{number}", rebuild, self._master, number, known=False)
            for number in range(self.partitions)
        ]
        try:
            rebuilt = [self._follower(number, store) for number, store in enumerate(stores)]
            self._fold_all(rebuilt, progress)
            with self._admitting:
                for follower in rebuilt:
                    follower.catch_up()
                    self.anchoring.check(follower)
                self._directory.use_generation(new.name)
                for part, store in zip(self._parts, stores, strict=True):
                    number = part.follower.partition
                    part.go_on_with(self._admission(number, Turnstile(store, part.lock)))
                self._verdicts.rebuilt(self._parts)
        except BaseException:
            if self._directory.generation() == old:
                for store in stores:
                    store.close()
                shutil.rmtree(new, ignore_errors=True)
            raise
        shutil.rmtree(old, ignore_errors=True)
        return {str(p): follower.checkpoint().count for p, follower in enumerate(rebuilt)}

    def _fold_all(
        self, rebuilt: Sequence[Follower], progress: Callable[[int, int], None] | None
    ) -> None:
        total = sum(self.log.end(self.topics.ledger, p) for p in range(self.partitions))
        done = 0
        for follower in rebuilt:
            while folded := self._fold_some(follower):
                done += folded
                if progress is not None:
                    progress(done, total)

    @staticmethod
    def _fold_some(follower: Follower) -> int:
        before = follower.checkpoint().next_offset
        follower.catch_up(limit=1000)
        return follower.checkpoint().next_offset - before

    # Admission and schedule

    def start(self) -> None:
        """Begin to admit what is published."""
        for name, target in (("admission", self._admit), ("schedule", self._schedule)):
            thread = threading.Thread(target=target, name=f"mnemolog-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _admit(self) -> None:
        anchored = 0.0
        while not self._stop.is_set():
            try:
                if self._trouble is not None:
                    self._recover()
                ends = self._intake_ends()
                if not self.admit_once():
                    self.log.wait(ends, 0.2)
                if time.monotonic() - anchored > ANCHOR_S:
                    anchored = time.monotonic()
                    self._anchor()
            except Unavailable as error:
                self._in_trouble(error)
                self._stop.wait(RETRY_S)

    def _in_trouble(self, error: Unavailable) -> None:
        if self._trouble is None:
            log.error("not admitting", error=str(error))
        self._trouble = error

    def _recover(self) -> None:
        """Go on once everything can be written: what the ledger took meanwhile is folded first."""
        self.log.probe()
        with self._admitting:
            self._resume([part for part in self._parts if part.damage is None])
        self._trouble = None
        log.info("admitting again")

    def _intake_ends(self) -> dict[tuple[str, int], int]:
        return {
            (topic, number): part.positions.get(kind, 0)
            for number, part in enumerate(self._parts)
            if part.damage is None
            for kind, topic in self.topics.intake.items()
        }

    def admit_once(self) -> int:
        """Admit what is there now, one batch a partition; how many records."""
        with self._admitting:
            return sum(self._admit_part(part) for part in self._parts if part.damage is None)

    def _admit_part(self, part: _Admitting) -> int:
        number = part.follower.partition
        limit = BATCH // 4 if self._turn.asked else BATCH
        records: list[LogRecord] = []
        for kind, topic in self.topics.intake.items():
            at = part.positions[kind]
            if self.log.end(topic, number) > at:
                records += self.log.read(topic, number, at, limit)
        if not records:
            return 0
        records.sort(key=lambda record: record.append_ms)
        admitted = 0
        with part.stopping():
            admitted = part.admission.admit(records[:limit])
            part.note()
            self._drop_admitted(part)
        return admitted

    def _drop_admitted(self, part: _Admitting) -> None:
        """Truncate the intake: what is in the ledger is nowhere else in clear."""
        if self._keep_intake:
            return
        number = part.follower.partition
        for kind, topic in self.topics.intake.items():
            if self.log.start(topic, number) < part.positions[kind]:
                self.log.truncate(topic, number, part.positions[kind])

    def _schedule(self) -> None:
        while not self._stop.wait(SCHEDULE_S):
            try:
                self.run_schedule()
            except MnemologError as error:
                log.warning("schedule skipped", error=str(error))

    def run_schedule(self) -> int:
        """Publish the controls that are due now; how many."""
        now = self._clock()
        published = 0
        for number in range(self.partitions):
            with self.reading(number) as reader:
                controls = due_controls(reader, now, self.policy())
            if controls:
                published += len(
                    self._append([(Kind.CONTROL, control) for control in controls], system=True)
                )
        return published

    def _anchor(self) -> None:
        with self._admitting:
            for part in self._parts:
                with part.stopping():
                    self.anchoring.write([part.follower] if part.damage is None else [])

    # Closing

    def close(self) -> None:
        """Finish the batch in hand, write anchors, let everything go; idempotent."""
        if self._stop.is_set():
            return
        self._stop.set()
        for thread in self._threads:
            thread.join()
        with self._held:
            self._anchor()


def _remove_others(generation: Path) -> None:
    """A rebuild that was cut short leaves a generation behind; derived copies must not stay."""
    for other in generation.parent.iterdir():
        if other.is_dir() and other != generation:
            shutil.rmtree(other)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size
