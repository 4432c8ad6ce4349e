"""`KeyValueStore`: RocksDB and its in-memory twin behave like one ordered map."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from projections.checked import CheckedStore
from projections.kv_memory import MemoryStore
from projections.kv_rocks import RocksStore
from projections.ports import KeyValueStore
from schemas.errors import StoreLocked, Unavailable

KEYS = st.binary(min_size=1, max_size=3) | st.sampled_from((b"\xff", b"\xff\xff", b"a\xff"))


@pytest.fixture(params=["memory", "rocks", "checked"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeyValueStore]:
    made: KeyValueStore = MemoryStore()
    if request.param == "rocks":
        made = RocksStore(tmp_path / "kv")
    elif request.param == "checked":
        made = CheckedStore(RocksStore(tmp_path / "kv"), bytes(32))
    yield made
    made.close()


def test_a_batch_applies_whole_and_none_deletes(store: KeyValueStore) -> None:
    store.write({b"a": b"1", b"b": b"2", b"c": b""})
    store.write({b"a": None, b"b": b"3"}, sync=True)
    assert store.get_many([b"b", b"a", b"c", b"b"]) == [b"3", None, b"", b"3"]
    assert store.get(b"a") is None
    assert store.get_many([]) == []


def test_a_scan_sees_its_prefix_alone_in_order_both_ways(store: KeyValueStore) -> None:
    rows = {b"p" + bytes((n,)): bytes((n,)) for n in (0, 1, 128, 255)}
    store.write({**rows, b"o": b"", b"q": b"", b"p": b"self", b"\xff\xff": b"end"})
    found = [(b"p", b"self"), *sorted(rows.items())]
    assert list(store.scan(b"p")) == found
    assert list(store.scan(b"p", reverse=True)) == found[::-1]
    assert list(store.scan(b"p", start=b"p\x01")) == found[2:]
    assert list(store.scan(b"p", start=b"p\x80", reverse=True)) == found[:4][::-1]
    assert list(store.scan(b"\xff")) == [(b"\xff\xff", b"end")]
    assert len(list(store.scan(b""))) == 8
    assert list(store.scan(b"nothing")) == []


def test_a_scan_does_not_see_later_writes(store: KeyValueStore) -> None:
    store.write({bytes((n,)): b"old" for n in range(10)})
    scan = store.scan(b"")
    first = next(scan)
    store.write({bytes((n,)): b"new" for n in range(20)})
    assert [first, *scan] == [(bytes((n,)), b"old") for n in range(10)]


def test_scans_of_many_short_prefixes_are_whole(store: KeyValueStore) -> None:
    """RocksDB compares with the bound's own bytes: they must outlive the cursor."""
    store.write({b"G" + bytes((n,)) * 16 + bytes((m,)): b"x" for n in range(50) for m in range(5)})
    for n in range(50):
        assert len(list(store.scan(b"G" + bytes((n,)) * 16))) == 5


def test_a_closed_store_answers_nothing(store: KeyValueStore) -> None:
    store.close()
    store.close()
    for use in (
        lambda: store.get(b"a"),
        lambda: store.write({b"a": b""}),
        lambda: list(store.scan(b"")),
        lambda: store.get_many([b"a"]),
    ):
        with pytest.raises(Unavailable):
            use()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("read", [0, 1, 10])
def test_an_open_scan_ends_with_the_store(store: KeyValueStore, read: int, reverse: bool) -> None:
    store.write({bytes((n,)): b"" for n in range(10)})
    scan = store.scan(b"", reverse=reverse)
    for _ in range(read):
        next(scan)
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        next(scan)


def test_rocks_keeps_what_was_written_and_tells_a_lost_store(tmp_path: Path) -> None:
    path = tmp_path / "kv"
    with pytest.raises(Unavailable, match="does not exist"):
        RocksStore(path, create=False)
    store = RocksStore(path)
    store.write({b"a": b"1"})
    store.close()
    store = RocksStore(path, create=False)
    assert store.get(b"a") == b"1"
    store.close()
    (path / "CURRENT").unlink()
    with pytest.raises(Unavailable, match="gone or damaged"):
        RocksStore(path)


def test_a_directory_is_used_by_one_process(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "kv")
    code = (
        "import sys; from pathlib import Path; from projections.kv_rocks import RocksStore\n"
        "from schemas.errors import StoreLocked\n"
        "try: RocksStore(Path(sys.argv[1]))\n"
        "except StoreLocked: print('locked')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "kv")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "locked"
    store.close()
    assert issubclass(StoreLocked, Unavailable)


def test_damaged_bytes_are_never_a_shorter_answer(tmp_path: Path) -> None:
    path = tmp_path / "kv"
    store = RocksStore(path)
    rows = {n.to_bytes(4, "big"): n.to_bytes(4, "big") * 50 for n in range(20_000)}
    for at in range(0, 20_000, 2_000):
        store.write(dict(list(rows.items())[at : at + 2_000]))
    store._db.flush()
    store._db.compact_range(None, None)
    store.close()
    table = max(path.glob("*.sst"), key=lambda file: file.stat().st_size)
    bent = bytearray(table.read_bytes())
    bent[len(bent) // 2] ^= 0xFF
    table.write_bytes(bytes(bent))
    read = RocksStore(path)
    with pytest.raises(Unavailable, match="cannot be read"):
        list(read.scan(b""))
    with pytest.raises(Unavailable, match="cannot be read"):
        read.get_many(list(rows))
    read.close()


class Machine(RuleBasedStateMachine):
    """Drives a store beside a dict."""

    make: Callable[[], KeyValueStore]

    @initialize()
    def start(self) -> None:
        self.store = type(self).make()
        self.rows: dict[bytes, bytes] = {}

    @rule(changes=st.dictionaries(KEYS, st.none() | st.binary(max_size=4), max_size=5))
    def write(self, changes: dict[bytes, bytes | None]) -> None:
        self.store.write(changes)
        for key, value in changes.items():
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = value

    @rule(prefix=st.binary(max_size=2), reverse=st.booleans())
    def scan(self, prefix: bytes, reverse: bool) -> None:
        expected = sorted(pair for pair in self.rows.items() if pair[0].startswith(prefix))
        found = list(self.store.scan(prefix, reverse=reverse))
        assert found == (expected[::-1] if reverse else expected)

    @invariant()
    def same(self) -> None:
        if hasattr(self, "store"):
            keys = [*self.rows, b"absent"]
            assert self.store.get_many(keys) == [*self.rows.values(), None]

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()


def machine(make: Callable[[], KeyValueStore]) -> type[Machine]:
    """A machine over one kind of store."""
    return type("Made", (Machine,), {"make": staticmethod(make)})


def test_both_stores_are_the_same_map(tmp_path: Path) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    numbers = iter(range(10**6))
    gentle = settings(
        max_examples=25,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    for make in (MemoryStore, lambda: RocksStore(tmp_path / str(next(numbers)))):
        run_state_machine_as_test(machine(make), settings=gentle)
