"""A data directory of two partitions, and the hand that tampers with it while nothing runs.

The ledger is changed where it is stored: the record of an entry is found by the entry's bytes, so
what surrounds them in the store's own layout is kept as it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from gateway.errors import LedgerDamaged
from mnemolog import Memory
from mnemolog.data_directory import DataDirectory
from mnemolog.memory import ScopedMemory
from projections.kv_rocks import RocksStore
from projections.log_rocks import RocksLog
from schemas.answers import Finding, Verification
from schemas.entry import GENESIS, Entry, header_bytes, make_entry, parse_entry
from schemas.scope import Scope, partition_of
from schemas.topics import TopicNames

PARTITIONS = 2
HERE, ELSEWHERE = 0, 1
OFFSET = 8  # bytes of the log's offset, last in the keys of its records


def subject_of(partition: int) -> str:
    """A subject that lives in a partition."""
    return next(
        name
        for name in (f"s{n}" for n in range(100))
        if partition_of(Scope("acme", "support", name), PARTITIONS) == partition
    )


class Site:
    """A data directory, with its state directory beside it."""

    def __init__(self, base: Path, name: str = "data") -> None:
        self.data = base / name
        self.state = base / "state"
        self._areas: dict[int, bytes] = {}
        self.directory = DataDirectory(self.data, {"XDG_STATE_HOME": str(self.state)})
        if not self.directory.exists:
            self.directory.init(PARTITIONS)

    @property
    def anchors(self) -> Path:
        """The anchors file."""
        return self.directory.anchors_path()

    @contextmanager
    def open(self) -> Iterator[Memory]:
        """The memory, for as long as it is asked."""
        with Memory.open(self.data) as memory:
            yield memory

    def tell(self, more: int = 0) -> None:
        """A source, a fact with its quote and a refused event in each partition, then more."""
        with self.open() as memory:
            for partition in range(PARTITIONS):
                scope = memory.scope("acme", "support", subject_of(partition))
                for n in range(more):
                    scope.observe(f"and more, number {n}")
                if not more:
                    seen = scope.observe("I moved to Berlin in May.", event_id="seen")
                    scope.assert_fact(
                        "s", "city", "Berlin", source=seen, quote="Berlin", fact_id="f"
                    )
                    scope.assert_fact("s", "city", "Rome", source=seen, quote="Rome")
                    scope.observe("The garden is green.")
                    scope.retract("nothing", reason="it waits")
                    scope.observe("The last word.")

    def ledger(self, partition: int) -> list[bytes]:
        """The entries as stored."""
        log = RocksLog(self.data / "log", PARTITIONS, lambda: 0, create=False)
        records = log.read(TopicNames().ledger, partition, 0, 10_000)
        log.close()
        return [record.value or b"" for record in records]

    def put(self, partition: int, values: Sequence[bytes | None]) -> None:
        """Let these stand in the ledger, from the first offset on; None leaves a hole."""
        areas = self._areas = self._areas or self._find_areas()
        before = self.ledger(partition)
        store = RocksStore(self.data / "log", create=False)
        pairs = zip(store.scan(areas[partition]), before, strict=True)
        places = [(key, data.removesuffix(value)) for (key, data), value in pairs]
        key, wrapping = places[-1]
        while len(places) < len(values):
            key = (int.from_bytes(key, "big") + 1).to_bytes(len(key), "big")
            places.append((key, wrapping))
        changes: dict[bytes, bytes | None] = {place: None for place, _ in places}
        for (place, around), value in zip(places, values, strict=False):
            changes[place] = None if value is None else around + value
        store.write(changes, sync=True)
        store.close()

    def _find_areas(self) -> dict[int, bytes]:
        """What the keys of each partition's entries begin with, before anything was changed."""
        firsts = {partition: self.ledger(partition)[0] for partition in range(PARTITIONS)}
        store = RocksStore(self.data / "log", create=False)
        found = {
            partition: next(key[:-OFFSET] for key, data in store.scan(b"") if data.endswith(first))
            for partition, first in firsts.items()
        }
        store.close()
        return found

    def forget_projections(self) -> None:
        """As one who covers the tracks: the stores are folded anew when it is next opened."""
        shutil.rmtree(self.data / "state")

    def change_key(self, partition: int, row: bytes | None) -> tuple[bytes, bytes]:
        """Put another row, or none, for the key of a partition's last entry; the row it had."""
        key_id = parse_entry(self.ledger(partition)[-1]).header.key_id
        store = RocksStore(self.data / "vault", create=False)
        before = store.get(key_id)
        assert before is not None
        store.write({key_id: row}, sync=True)
        store.close()
        return key_id, before

    def restore_key(self, key_id: bytes, row: bytes) -> None:
        """Put a key's row back."""
        store = RocksStore(self.data / "vault", create=False)
        store.write({key_id: row}, sync=True)
        store.close()

    def verify(self, deep: bool = False) -> Verification:
        """What `verify` says."""
        with self.open() as memory:
            return memory.verify(deep)

    def found(self, deep: bool = False) -> list[Finding]:
        """The damage, and that reads stop for it and only there, now and after a restart."""
        with self.open() as memory:
            verification = memory.verify(deep)
            assert not verification.ok
            damaged = {finding.partition for finding in verification.damage}
            self.check_reads(memory, damaged)
        with self.open() as memory:
            self.check_reads(memory, damaged)
        return list(verification.damage)

    @staticmethod
    def check_reads(memory: Memory, damaged: set[int]) -> None:
        """Public reads stop in the damaged partitions, with the reason, and go on in the others."""
        for partition in range(PARTITIONS):
            scope = memory.scope("acme", "support", subject_of(partition))
            if partition not in damaged:
                assert [fact.fact_id for fact in scope.facts().items] == ["f"]
                assert release(scope) == "release"
                assert scope.recall("Berlin").results
                continue
            for ask in (
                lambda scope=scope: scope.recall("Berlin"),
                lambda scope=scope: release(scope),
                lambda scope=scope: scope.facts(),
                lambda scope=scope: scope.episodes(),
                lambda scope=scope: scope.history("s", "city"),
                lambda scope=scope: scope.conflicts(),
                lambda scope=scope: scope.receipt("seen", kind="observation"),
                lambda scope=scope: scope.head(),
            ):
                with pytest.raises(LedgerDamaged, match=f"partition {partition}, entry") as error:
                    ask()
                assert error.value.code == "ledger_damaged"


def release(scope: ScopedMemory) -> str:
    """Whether the fact may be said."""
    return scope.release([("s", "city", "Berlin", ["f"])]).decision


def chained(values: Sequence[bytes], shift: int = 1) -> list[bytes]:
    """The same entries a little later, with hashes that fit: the whole log chained anew."""
    made: list[bytes] = []
    previous = GENESIS
    for value in values:
        entry = parse_entry(value)
        header = replace(
            entry.header, previous=previous, recorded_at=entry.header.recorded_at + shift
        )
        again = make_entry(header, header_bytes(header), entry.sealed)
        previous = again.hash
        made.append(again.stored)
    return made


def successor(of: Entry, like: Entry) -> bytes:
    """An entry that extends `of` with hashes that fit, under a header made up from `like`'s."""
    header = replace(
        like.header,
        previous=of.hash,
        sequence=of.header.sequence + 1,
        recorded_at=of.header.recorded_at + 1,
    )
    return make_entry(header, header_bytes(header), like.sealed).stored
