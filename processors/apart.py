"""A second process that examines partitions for `verify`, so that both cores work (SPEC §3).

Rules
- It opens an embedded installation's stores to read only, beside the process that holds them, and
  sees what is on disk at that moment: who starts it admits nothing meanwhile.
- The task, with its keys, comes over standard input; what was found goes over standard output.
- It is never needed: where it fails, the first process examines by itself, and says what is wrong.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import structlog

from processors.examining import Examined, examine
from projections.checked import CheckedStore
from projections.follower import Follower
from projections.kv_memory import MemoryStore
from projections.kv_rocks import RocksStore
from projections.log_rocks import RocksLog
from projections.ports import KeyValueStore
from projections.vault import WrappedVault
from schemas.policy import Policy
from schemas.sealing import Hasher

log = structlog.get_logger()
WORTH_IT = 50_000  # entries: starting a process costs about as much as reading these


class Place(msgspec.Struct, frozen=True):
    """Where an embedded installation's log and vault stand, and what it takes to read them."""

    log: str
    partitions: int
    ledger: str
    vault: str
    vault_key: bytes
    hash_key: bytes


class State(msgspec.Struct, frozen=True):
    """The projections of one partition, and the key of its rows."""

    partition: int
    path: str
    key: bytes


class Task(msgspec.Struct, frozen=True):
    """What is to be examined, and how."""

    place: Place
    states: tuple[State, ...]
    deep: bool
    policy: Policy


class Apart:
    """Starts the second process for one installation; `state` tells where projections stand now."""

    def __init__(self, place: Place, state: Callable[[int], State]) -> None:
        self._place = place
        self._state = state

    @contextmanager
    def examining(self, numbers: Sequence[int], deep: bool, policy: Policy) -> Iterator[Helper]:
        """The process that examines these partitions while the caller does others."""
        task = Task(self._place, tuple(map(self._state, numbers)), deep, policy)
        paths = [os.path.abspath(path) for path in sys.path]
        process = subprocess.Popen(
            [sys.executable, "-m", "processors.apart"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        with process:
            try:
                yield Helper(process, task)
            finally:
                process.kill()


class Helper:
    """A running second process."""

    def __init__(self, process: subprocess.Popen[bytes], task: Task) -> None:
        self._process = process
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it is gone already, and `result` says so
            process.stdin.write(msgspec.msgpack.encode(task))
            process.stdin.close()

    def result(self) -> dict[int, Examined]:
        """Wait for what was found, by partition; nothing if the process failed."""
        assert self._process.stdout is not None
        data = self._process.stdout.read()
        if self._process.wait() != 0:
            log.warning("verifying in one process", status=self._process.returncode)
            return {}
        examined: list[Examined] = pickle.loads(data)
        return {one.chain.partition: one for one in examined}


def main() -> None:
    """Examine what standard input asks for."""
    task = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Task)
    place = task.place
    ledgers = RocksLog(Path(place.log), place.partitions, _no_clock, create=False, read_only=True)
    keys = WrappedVault(_reading(place.vault), place.vault_key, create=False)
    hasher = Hasher(place.hash_key)
    found = []
    for state in task.states:
        store: KeyValueStore = MemoryStore()
        if task.deep:
            store = CheckedStore(_reading(state.path), state.key)
        follower = Follower(state.partition, ledgers, place.ledger, store, keys, hasher)
        found.append(examine(follower, task.deep, task.policy))
        store.close()
    sys.stdout.buffer.write(pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL))


def _reading(path: str) -> RocksStore:
    return RocksStore(Path(path), create=False, read_only=True)


def _no_clock() -> int:
    raise AssertionError("examining appends nothing")


if __name__ == "__main__":
    main()
