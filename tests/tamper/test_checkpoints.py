"""Signed checkpoints kept elsewhere show what a ledger lost, whatever was done to its anchors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gateway.errors import LedgerDamaged
from mnemolog import Memory
from mnemolog.doors import HttpDoor
from schemas.answers import Checkpoint
from schemas.checkpoints import CheckpointKey, authentic
from schemas.errors import InvalidEvent, Unavailable
from schemas.master import MasterKey
from schemas.principals import local_api_key
from tests.cli.conftest import Cli
from tests.tamper.site import ELSEWHERE, HERE, PARTITIONS, Site, chained
from tests.tamper.test_ledger import told

Change = Callable[[dict[str, Any]], None]


def checkpoint_of(site: Site) -> Checkpoint:
    """A fresh checkpoint."""
    with site.open() as memory:
        return memory.checkpoint()


def forget_everything(site: Site) -> None:
    """As one who rolls back whatever an installation has of its own."""
    site.forget_projections()
    site.anchors.unlink()
    (site.data / "anchored").unlink()


def against(site: Site, kept: Checkpoint) -> list[tuple[int, int | None, str, str]]:
    """The damage that a checkpoint shows."""
    with site.open() as memory:
        return told(list(memory.verify(against=kept).damage))


def test_a_ledger_still_holds_what_a_checkpoint_saw(site: Site) -> None:
    kept = checkpoint_of(site)
    assert authentic(kept)
    assert [one.entries for one in kept.partitions] == [6] * PARTITIONS
    assert against(site, kept) == []
    site.tell(more=2)
    assert against(site, kept) == []


def test_a_cut_that_took_the_anchors_along_is_found_by_the_checkpoint(site: Site) -> None:
    site.tell(more=2)
    kept = checkpoint_of(site)
    site.put(HERE, list(site.ledger(HERE)[:-3]))
    forget_everything(site)
    assert site.verify().ok
    detail = f"3 entries are missing: the checkpoint of {kept.made_at} saw 8"
    assert against(site, kept) == [(HERE, 5, "truncated", detail)]
    with site.open() as memory:
        site.check_reads(memory, {HERE})


def test_an_installation_rolled_back_as_a_whole_is_found_by_the_checkpoint(
    site: Site, tmp_path: Path
) -> None:
    base = site.data.parent
    shutil.copytree(base, tmp_path / "whole")
    site.tell(more=2)
    kept = checkpoint_of(site)
    shutil.rmtree(base)
    shutil.copytree(tmp_path / "whole", base)
    assert site.verify(deep=True).ok
    assert [one[:3] for one in against(site, kept)] == [
        (HERE, 6, "truncated"),
        (ELSEWHERE, 6, "truncated"),
    ]


def test_a_log_chained_anew_diverges_from_the_checkpoint(site: Site) -> None:
    kept = checkpoint_of(site)
    site.put(HERE, list(chained(site.ledger(HERE))))
    forget_everything(site)
    assert against(site, kept)[0][:3] == (HERE, 5, "rewritten")


def test_another_log_under_the_same_keys_is_not_what_the_checkpoint_saw(
    site: Site, tmp_path: Path
) -> None:
    kept = checkpoint_of(site)
    other = Site(tmp_path, "other")
    shutil.copy(site.data / "master.key", other.data)
    other.tell()
    found = against(other, kept)
    assert [one[:3] for one in found] == [
        (partition, 0, "another_log") for partition in range(PARTITIONS)
    ]
    assert kept.log in found[0][3]


FORGERIES: dict[str, tuple[Change, str]] = {
    "fewer entries": (lambda said: said["partitions"][0].update(entries=5), "forged_checkpoint"),
    "another head": (
        lambda said: said["partitions"][0].update(head="0" * 64),
        "forged_checkpoint",
    ),
    "partitions exchanged": (
        lambda said: said["partitions"].reverse(),
        "forged_checkpoint",
    ),
    "a partition left out": (lambda said: said["partitions"].pop(), "forged_checkpoint"),
    "another time": (
        lambda said: said.update(made_at="2026-01-01T00:00:00.000000Z"),
        "forged_checkpoint",
    ),
    "another log": (lambda said: said.update(log="x"), "forged_checkpoint"),
    "no signature": (lambda said: said.update(signature=""), "forged_checkpoint"),
    "another key": (lambda said: said.update(public_key="11" * 32), "foreign_checkpoint"),
    "a field too many": (lambda said: said.update(note="x"), "unknown_field"),
    "a field too few": (lambda said: said.pop("log"), "missing_field"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_or_foreign_checkpoint_is_refused_by_name(site: Site, forgery: str) -> None:
    change, code = FORGERIES[forgery]
    with site.open() as memory:
        said = memory.checkpoint().model_dump(mode="json")
        change(said)
        with pytest.raises(InvalidEvent) as error:
            memory.door.verify(False, said)
    assert error.value.fault.code == code


def test_a_checkpoint_of_another_installation_is_foreign(site: Site, tmp_path: Path) -> None:
    kept = checkpoint_of(site)
    foreign = CheckpointKey(MasterKey(b"!" * 32)).sign(kept.log, 0, kept.partitions)
    assert authentic(foreign)
    with site.open() as memory, pytest.raises(InvalidEvent) as error:
        memory.verify(against=foreign)
    assert error.value.fault.code == "foreign_checkpoint"
    assert kept.public_key in error.value.fault.detail


def test_a_damaged_partition_is_not_signed(site: Site) -> None:
    site.put(HERE, list(site.ledger(HERE)[:-2]))
    with site.open() as memory, pytest.raises(LedgerDamaged, match="ends 2 records before"):
        memory.checkpoint()


@pytest.fixture
def command(site: Site, tmp_path: Path) -> Cli:
    """The command, on the site."""
    made = Cli(tmp_path)
    made.data = site.data
    made.env["XDG_STATE_HOME"] = str(site.state)
    return made


def test_the_command_writes_a_checkpoint_and_verifies_against_it(
    command: Cli, tmp_path: Path
) -> None:
    kept = tmp_path / "kept" / "checkpoint.json"
    made = command.json("checkpoint", "--output", str(kept))
    assert json.loads(kept.read_text()) == made
    assert command.json("verify", "--against", str(kept))["ok"]
    kept.write_text(kept.read_text().replace('"entries": 6', '"entries": 7'))
    refused = command.json("verify", "--against", str(kept), status=2)
    assert refused["code"] == "forged_checkpoint"


def test_the_command_says_what_is_damaged_where_and_what_accepts_it(
    command: Cli, site: Site
) -> None:
    site.put(HERE, list(site.ledger(HERE)[:-1]))
    found = command.json("verify", status=1)
    anchored, stored = found["damage"]
    assert anchored["detail"] == "1 entry is missing: the anchor saw 6"
    assert stored["detail"] == "1 entry is missing: the store saw 6"
    assert (anchored["partition"], anchored["sequence"], anchored["what"]) == (HERE, 5, "truncated")
    assert command.json("verify", "--trust-as-found", status=1)["damage"] == [stored]
    with site.open() as memory:
        site.check_reads(memory, {HERE})
        memory.replay()
        assert memory.verify(deep=True).ok
        site.check_reads(memory, set())
    assert site.verify().notices == ()


@pytest.mark.filterwarnings("ignore:You should not use the 'timeout'")
def test_over_http_a_checkpoint_is_made_and_held_against_the_ledger(site: Site) -> None:
    with site.open() as memory:
        app = memory.door.app()  # type: ignore[attr-defined]
        master = MasterKey.load(site.data, {})
        client: Any = TestClient(app)
        with client:
            door = HttpDoor("http://testserver", local_api_key(master), client)
            afar = Memory(door)
            kept = afar.checkpoint()
            assert kept.partitions == memory.checkpoint().partitions
            assert afar.verify(against=kept).ok
            with pytest.raises(InvalidEvent) as error:
                afar.verify(against=kept.model_copy(update={"log": "x"}))
            assert error.value.fault.code == "forged_checkpoint"
            with pytest.raises(Unavailable, match="data directory itself"):
                door.trust_as_found()
