"""A store with damaged or missing files is named, never read past, never made afresh (SPEC §3, §5).

Log and vault come back from a backup; projections are rebuilt by what the refusal says to type.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.storage.conftest import House

LOG, VAULT, STATE = "log", "vault", "state/0/p0"
Damage = Callable[[Path], None]


def bend_table(store: Path) -> None:
    """Flip the bits of every 1,000th byte of its tables' blocks: each read meets one."""
    for table in store.glob("*.sst"):
        bent = bytearray(table.read_bytes())
        for at in range(500, len(bent) - 2_000, 1_000):  # the foot says where blocks stand
            bent[at] ^= 0xFF
        table.write_bytes(bent)


def drop_table(store: Path) -> None:
    for table in store.glob("*.sst"):
        table.unlink()


def cut_manifest(store: Path) -> None:
    (manifest,) = store.glob("MANIFEST-*")
    manifest.write_bytes(manifest.read_bytes()[:20])


def empty_current(store: Path) -> None:
    (store / "CURRENT").write_bytes(b"")


def drop_current(store: Path) -> None:
    (store / "CURRENT").unlink()


def drop_all_but_tables(store: Path) -> None:
    for file in store.iterdir():
        if file.suffix != ".sst":
            file.unlink()


def drop_write_ahead_log(store: Path) -> None:
    logs = list(store.glob("*.log"))
    assert logs
    for log in logs:
        log.unlink()


UNOPENABLE = [
    drop_table,
    cut_manifest,
    empty_current,
    drop_current,
    drop_all_but_tables,
    drop_write_ahead_log,
]


def by_name(value: object) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize("damage", UNOPENABLE, ids=by_name)
@pytest.mark.parametrize("store", [LOG, VAULT])
def test_a_log_or_vault_that_lost_files_stops_everything_until_it_is_restored(
    house: House, expected: list[Any], store: str, damage: Damage
) -> None:
    damage(house.data / store)
    for said in house.never_lies(expected):
        assert str(house.data / store) in said.document["detail"]
        assert "restore it from a backup" in said.document["remedy"]
    for verb in ("verify", "replay"):
        assert house.run(verb).status == 3
    examined = house.run("doctor")
    assert examined.status == 1
    assert [f["what"] for f in examined.document["findings"] if not f["ok"]] == [store]
    house.restore(store)
    house.goes_on(expected)


@pytest.mark.parametrize("damage", [*UNOPENABLE, bend_table], ids=by_name)
def test_projections_that_cannot_be_read_are_rebuilt_by_what_it_says_to_type(
    house: House, expected: list[Any], damage: Damage
) -> None:
    damage(house.data / STATE)
    refused = house.never_lies(expected)
    assert refused
    for said in refused:
        assert str(house.data / STATE) in said.document["detail"]
    rebuilt = house.type_remedy(refused[0])
    assert rebuilt.status == 0
    assert not (house.data / STATE).exists()
    house.goes_on(expected)


@pytest.mark.parametrize("store", [LOG, VAULT])
def test_flipped_bytes_of_a_table_are_found_by_verify_and_never_served(
    house: House, expected: list[Any], store: str
) -> None:
    bend_table(house.data / store)
    house.never_lies(expected)
    found = house.run("verify", "--deep")
    assert found.status in (1, 3)
    assert str(house.data / store) in found.text
    house.restore(store)
    house.goes_on(expected)


@pytest.mark.parametrize("store", [LOG, VAULT, STATE])
def test_after_a_kill_a_missing_write_ahead_log_is_not_taken_for_an_empty_one(
    killed_house: House, store: str
) -> None:
    drop_write_ahead_log(killed_house.data / store)
    said = killed_house.run("episodes")
    assert said.status == 3
    assert "write-ahead log" in said.document["detail"]
    if store == STATE:
        assert killed_house.type_remedy(said).status == 0
    else:
        killed_house.restore(store)
    assert '"the last"' in killed_house.run("episodes", "--limit", "1000").text
    assert killed_house.run("verify", "--deep").status == 0


@pytest.mark.parametrize("store", [LOG, VAULT])
def test_an_empty_database_in_the_place_of_a_log_or_vault_is_a_loss(
    house: House, expected: list[Any], store: str, tmp_path: Path
) -> None:
    from projections.kv_rocks import RocksStore

    shutil.rmtree(house.data / store)
    RocksStore(house.data / store).close()
    refused = house.never_lies(expected)
    assert refused
    for said in refused:
        assert "empty now" in said.document["detail"]
        assert store in said.document["detail"]
    house.restore(store)
    house.goes_on(expected)
