"""A second process that reads ledgers for `verify`, so that both cores work (SPEC §3).

Rules
- It opens log and vault of an embedded installation to read only, beside the process that holds
  them, and sees what is on disk at that moment: who starts it admits nothing meanwhile.
- The task, with the vault's key, comes over standard input, the readings go over standard output.
- It is never needed: where it fails, the first process reads by itself, and says what is wrong.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import structlog

from processors.ledger_reading import Reading, read_ledger
from projections.kv_rocks import RocksStore
from projections.log_rocks import RocksLog
from projections.vault import WrappedVault

log = structlog.get_logger()
WORTH_IT = 50_000  # entries: starting a process costs about as much as reading these


class Task(msgspec.Struct, frozen=True):
    """What is to be read; `vault_key` is empty where bodies are not."""

    log: str
    partitions: int
    ledger: str
    vault: str
    vault_key: bytes
    numbers: tuple[int, ...]


class Apart:
    """Starts the second process for one installation."""

    def __init__(
        self, log: Path, partitions: int, ledger: str, vault: Path, vault_key: bytes
    ) -> None:
        self._of = (str(log), partitions, ledger, str(vault))
        self._vault_key = vault_key

    @contextmanager
    def reading(self, numbers: Sequence[int], *, bodies: bool) -> Iterator[Helper]:
        """The process that reads these partitions while the caller does something else."""
        task = Task(*self._of, self._vault_key if bodies else b"", tuple(numbers))
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

    def result(self) -> dict[int, Reading]:
        """Wait for the readings, by partition; none if the process failed."""
        assert self._process.stdout is not None
        data = self._process.stdout.read()
        if self._process.wait() != 0:
            log.warning("reading in one process", status=self._process.returncode)
            return {}
        readings: list[Reading] = pickle.loads(data)
        return {reading.chain.partition: reading for reading in readings}


def main() -> None:
    """Read what standard input asks for."""
    task = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Task)
    source = RocksLog(Path(task.log), task.partitions, _no_clock, create=False, read_only=True)
    vault = None
    if task.vault_key:
        store = RocksStore(Path(task.vault), create=False, read_only=True)
        vault = WrappedVault(store, task.vault_key, create=False)
    readings = [read_ledger(number, source, task.ledger, vault) for number in task.numbers]
    sys.stdout.buffer.write(pickle.dumps(readings, protocol=pickle.HIGHEST_PROTOCOL))


def _no_clock() -> int:
    raise AssertionError("reading appends nothing")


if __name__ == "__main__":
    main()
