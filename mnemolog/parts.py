"""One partition in a process that serves reads: lock, progress, recent receipts, damage.

A part stays the same object while the process lives; a rebuild exchanges the follower inside, under
the lock, so a reader has either the old store for as long as it reads, or the new one (SPEC §3).
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import structlog

from gateway.backend import Reach
from gateway.errors import LedgerDamaged
from projections.follower import Decided, Follower, open_body
from projections.journal import Journals
from projections.ports import KeyValueStore
from projections.rows import ReceiptRow
from projections.state import Reader
from schemas.answers import PartitionHead
from schemas.bodies import Body
from schemas.entry import Entry, parse_entry
from schemas.errors import LedgerCorrupt, StoreDamaged, ViewBehind
from schemas.kinds import Kind

log = structlog.get_logger()
RECENT = 20_000


class Turnstile:
    """A store whose commits wait for readers and the other way round, and stand in journals."""

    def __init__(self, store: KeyValueStore, lock: threading.RLock) -> None:
        self.inner = store
        self.journals = Journals()
        self._lock = lock
        self.get = store.get
        self.get_many = store.get_many
        self.scan = store.scan
        self.close = store.close

    def write(self, changes: Mapping[bytes, bytes | None], *, sync: bool = False) -> None:
        """Write while nobody reads."""
        with self._lock:
            self.journals.note(changes)  # first: also what fails half-way is looked at again
            self.inner.write(changes, sync=sync)


class Turn:
    """Lets those who ask go before the one who admits, who still gets a share of the time."""

    WAIT_S = 0.02  # for how long admission gives way at most
    OWN_S = 0.005  # for how long it then works at least

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting = 0
        self._since = 0.0

    @property
    def asked(self) -> bool:
        """Whether somebody asks now."""
        return self._waiting > 0

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While this lasts, who admits gives way."""
        with self._changed:
            self._waiting += 1
        try:
            yield
        finally:
            with self._changed:
                self._waiting -= 1
                self._changed.notify_all()

    def give_way(self) -> None:
        """Wait until nobody asks, within bounds; costs nothing while nobody does."""
        if self._waiting and time.monotonic() - self._since > self.OWN_S:
            with self._changed:
                self._changed.wait_for(lambda: not self._waiting, self.WAIT_S)
            self._since = time.monotonic()


class Part:
    """One partition's follower as readers meet it; `changed` is shared by a process's parts."""

    def __init__(
        self, follower: Follower, lock: threading.RLock, changed: threading.Condition
    ) -> None:
        self.follower = follower
        self.lock = lock
        self.recent: OrderedDict[tuple[int, int], ReceiptRow] = OrderedDict()
        self.damage: LedgerCorrupt | None = None
        self.next_offset = 0
        self.positions: dict[Kind, int] = {}
        self._changed = changed
        follower.on_receipts = self._remember

    def _remember(self, receipts: Sequence[Decided]) -> None:
        for one in receipts:
            self.recent[one.kind, one.offset] = one.receipt
        while len(self.recent) > RECENT:
            self.recent.popitem(last=False)

    def note(self) -> None:
        """Tell who waits how far the view has come."""
        checkpoint = self.follower.checkpoint()
        with self._changed:
            self.next_offset = checkpoint.next_offset
            self.positions = {kind: checkpoint.positions[kind] for kind in Kind}
            self._changed.notify_all()

    def switch(self, follower: Follower) -> None:
        """Go on with a rebuilt follower that has caught up; whoever reads is let finish first."""
        with self.lock:
            old, self.follower = self.follower, follower
            follower.on_receipts = self._remember
            follower.moved = old.moved
            with self._changed:
                self.damage = None
            self.note()
            old.store.close()

    def damaged(self, error: LedgerCorrupt) -> None:
        """Stop public reads of the partition, saying why."""
        log.error("ledger damaged", partition=error.partition, what=error.what, detail=error.detail)
        with self._changed:
            self.damage = error
            self._changed.notify_all()

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """What is found wrong with the partition's own bytes stops its reads, and nothing else."""
        try:
            yield
        except LedgerCorrupt as error:
            self.damaged(error)
        except StoreDamaged as error:
            number = self.follower.partition
            self.damaged(LedgerCorrupt(number, 0, "projection", error.detail))

    def mended(self) -> None:
        """Let public reads go on."""
        with self._changed:
            self.damage = None
            self._changed.notify_all()

    def head(self) -> PartitionHead:
        """Where the partition stands; `LedgerDamaged` if it is not well."""
        self.refuse_damage()
        at = self.follower.checkpoint()
        number = self.follower.partition
        return PartitionHead(partition=number, entries=at.count, head=at.hash.hex())

    def refuse_damage(self) -> None:
        """Raise `LedgerDamaged` if the partition is."""
        if self.damage is not None:
            raise LedgerDamaged("ledger_damaged", str(self.damage), "type: mnemolog verify --deep")

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """A consistent view while commits wait; a damaged row stops this read and the next."""
        with self.lock:
            self.refuse_damage()
            with self.stopping():
                yield self.follower.reader
            self.refuse_damage()

    def reach(self, goal: Reach, timeout: float) -> None:
        """Wait until the view has folded that much, or raise `ViewBehind`."""
        with self._changed:
            there = self._changed.wait_for(
                lambda: self.damage is not None or self._covers(goal), timeout
            )
        self.refuse_damage()
        if not there:
            raise ViewBehind(
                f"partition {self.follower.partition}",
                "the view has not caught up with the log in time",
                "ask again; if it lasts, look at /readyz and at the log of the admitting process",
            )

    def _covers(self, goal: Reach) -> bool:
        return self.next_offset >= goal.ledger and all(
            self.positions.get(kind, 0) >= end for kind, end in goal.intake.items()
        )

    def entries(self) -> Iterator[tuple[Entry, Body | None]]:
        """The folded part of the ledger in order; a body is None once its key is gone."""
        log, vault, number = self.follower.log, self.follower.vault, self.follower.partition
        at = 0
        while at < self.next_offset:
            records = log.read(self.follower.ledger, number, at, 1000)
            if not records:
                return
            at = records[-1].offset + 1
            chain = self._of_the_chain([parse_entry(record.value) for record in records])
            found = vault.get_many([entry.header.key_id for entry in chain])
            for entry, key in zip(chain, found, strict=True):
                yield entry, None if key is None else open_body(number, entry, key)

    def _of_the_chain(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those that were folded: a beaten writer's are not."""
        with self.lock:
            reader = self.follower.reader
            rows = [reader.entry(entry.header.sequence) for entry in entries]
        return [
            entry
            for entry, row in zip(entries, rows, strict=True)
            if row is not None and row.hash == entry.hash
        ]
