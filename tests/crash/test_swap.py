"""A rebuild's store takes the old one's place: readers and waiters of the moment are served."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.backend import Reach
from mnemolog import Memory
from mnemolog.doors import EmbeddedDoor
from mnemolog.embedded import Embedded
from schemas.scope import Scope, partition_of
from tests.cluster.conftest import until

ALICE = ("acme", "support", "alice")


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A memory in which something was said."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    opened = Memory.open(tmp_path / "data")
    opened.scope(*ALICE).observe("In Berlin.")
    return opened


def backend_of(memory: Memory) -> Embedded:
    """What is behind the door."""
    assert isinstance(memory.door, EmbeddedDoor)
    return memory.door.backend


class Thread(threading.Thread):
    """One that keeps the error it ends with."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._act = act
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self._act()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def ended(self) -> Exception | None:
        """Wait for its end; the error, if any."""
        self.join(30)
        assert not self.is_alive()
        return self.error


def test_who_asked_before_the_stores_were_exchanged_is_answered_after(memory: Memory) -> None:
    with memory:
        backend = backend_of(memory)
        alice = memory.scope(*ALICE)
        with backend._parts[partition_of(Scope(*ALICE), backend.partitions)].lock:
            rebuild = Thread(memory.replay)
            until(lambda: backend._directory.generation().name, "1".__eq__)
            readers = [Thread(alice.episodes) for _ in range(4)]
        assert [thread.ended() for thread in (rebuild, *readers)] == [None] * 5


def test_who_waits_for_a_write_across_an_exchange_is_woken_by_it(memory: Memory) -> None:
    with memory:
        backend = backend_of(memory)
        partition = partition_of(Scope(*ALICE), backend.partitions)
        goal = Reach(backend.ends(partition).ledger + 1, {})
        waiting = Thread(lambda: backend.reach(partition, goal, 20))
        memory.replay()
        memory.scope(*ALICE).observe("In Munich.")
        assert waiting.ended() is None
