"""The floor does the product's own reads and writes, and no rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.floor import Floor, Tape
from benchmarks.partition import (
    HASHER,
    MASTER,
    REGISTRY,
    SIGNER,
    TOPICS,
    admission,
    follower,
    taped,
)
from benchmarks.workload import events, intake
from projections.kv_memory import MemoryStore
from projections.log_memory import MemoryLog
from projections.vault import WrappedVault

COUNT = 1500


class Reads(MemoryStore):
    """A store that notes what is asked of it, and how many pairs of scans were followed."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[object] = []
        self.followed = 0

    def get(self, key: bytes) -> bytes | None:
        self.asked.append(key)
        return super().get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.asked.append(list(keys))
        return super().get_many(keys)

    def scan(
        self, prefix: bytes, *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        for pair in super().scan(prefix, start=start, reverse=reverse):
            self.followed += 1
            yield pair


def test_the_floor_reads_the_same_keys_and_leaves_the_same_rows() -> None:
    records = list(intake(events(COUNT, 3, 10), SIGNER, TOPICS))
    product, again = Reads(), Reads()
    tape = Tape(product)
    vault = WrappedVault(MemoryStore(), MASTER.derive("record-keys"))
    log = MemoryLog(1, lambda: 0)
    writer = admission(follower(log, tape, vault))
    product.asked.clear()
    done = taped(writer, records, [tape])
    asked = list(product.asked)
    Floor(TOPICS, REGISTRY, HASHER).spent(done, lambda n, _: tape.replay(n, again))
    assert [len(batch.records) for batch in done] == [1000, 500]
    assert sum(len(batch.entries) for batch in done) >= COUNT
    assert again.asked == asked
    assert len(asked) > 10
    assert list(again.scan(b"")) == list(product.scan(b""))


def test_a_scan_is_followed_as_far_as_the_product_followed_it() -> None:
    rows: dict[bytes, bytes | None] = {bytes((1, n)): b"" for n in range(9)}
    inner, other = Reads(), Reads()
    for store in (inner, other):
        store.write(rows)
    tape = Tape(inner)
    tape.next_batch()
    pairs = tape.scan(b"\1")
    for _ in range(3):
        next(pairs)
    tape.replay(0, other)
    assert other.followed == inner.followed == 3
