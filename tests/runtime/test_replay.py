"""`replay`: a rebuild beside the running memory, and one switch; reads go on (SPEC §3)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway import listing
from mnemolog import Memory
from mnemolog.doors import EmbeddedDoor
from projections.state import Reader
from schemas.errors import Unavailable


def test_reads_go_on_while_the_projections_are_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Memory.open(tmp_path / "data") as memory:
        alice = memory.scope("acme", "support", "alice")
        events = [
            {
                "kind": "observation",
                "scope": alice._scope,
                "event_id": f"e{n}",
                "content": f"no {n}",
            }
            for n in range(600)
        ]
        memory.publish(events, wait=30)
        stop, seen = threading.Event(), []

        def read() -> None:
            while not stop.is_set():
                seen.append(len(alice.episodes(limit=1000).items))

        with ThreadPoolExecutor(1) as pool:
            reader = pool.submit(read)
            progress: list[tuple[int, int]] = []
            try:
                for _ in range(2):
                    done = memory.replay(lambda folded, total: progress.append((folded, total)))
                    assert sum(done.values()) == 600
            finally:
                stop.set()
            reader.result()
        assert seen
        assert set(seen) == {600}
        assert progress[-1] == (600, 600)
        assert memory.verify(deep=True).ok
        assert alice.observe("and writes go on").state == "accepted"
    assert [path.name for path in (tmp_path / "data" / "state").iterdir() if path.is_dir()] == ["2"]


def test_a_list_that_has_begun_goes_on_in_the_rebuilt_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(listing, "CHUNK", 10)
    door = EmbeddedDoor.open(tmp_path / "data")
    with Memory(door) as memory:
        alice = memory.scope("acme", "support", "alice")
        for n in range(25):
            alice.observe(f"no {n}")
        reading, turns = door.backend.reading, 0

        @contextmanager
        def rebuilt_after_the_turn(partition: int) -> Iterator[Reader]:
            nonlocal turns
            with reading(partition) as reader:
                yield reader
            turns += 1
            if turns == 2:
                memory.replay()

        monkeypatch.setattr(door.backend, "reading", rebuilt_after_the_turn)
        assert [one.content for one in alice.episodes().items] == [f"no {n}" for n in range(25)]
        assert turns > 2


def test_a_lost_log_or_vault_is_never_made_afresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for part in ("log", "vault"):
        data = tmp_path / f"data-{part}"
        with Memory.open(data) as memory:
            memory.scope("acme", "support", "alice").observe("hello")
        (data / part).rename(tmp_path / f"lost-{part}")
        with pytest.raises(Unavailable, match="does not exist"):
            Memory.open(data)


def test_a_lost_store_is_rebuilt_before_anything_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Memory.open(tmp_path / "data") as memory:
        alice = memory.scope("acme", "support", "alice")
        alice.observe("still here")
        alice.observe("this not", event_id="gone")
        alice.forget(observation="gone")
    shutil.rmtree(tmp_path / "data" / "state")
    door = EmbeddedDoor.open(tmp_path / "data", create=False)
    alice = Memory(door).scope("acme", "support", "alice")
    assert [episode.content for episode in alice.episodes().items] == ["still here"]
    door.close()
