"""`Vault`: keys come back until they are erased, and only under the right master key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from projections.ports import Vault
from projections.vault import MemoryVault, RocksVault
from schemas.errors import Unavailable

PAIRS = [(bytes((n,)) * 16, bytes((n,)) * 32) for n in range(5)]
IDS = [key_id for key_id, _ in PAIRS]


@pytest.fixture(params=["memory", "rocks"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Vault]:
    made = MemoryVault() if request.param == "memory" else RocksVault(tmp_path / "v", b"k" * 32)
    yield made
    made.close()


def test_keys_come_back_until_they_are_erased(vault: Vault) -> None:
    vault.put(PAIRS)
    assert vault.get_many([*IDS, b"?" * 16]) == [*(key for _, key in PAIRS), None]
    vault.erase([IDS[1], b"?" * 16])
    assert vault.get_many(IDS) == [None if n == 1 else key for n, (_, key) in enumerate(PAIRS)]


def test_keys_are_wrapped_at_rest_and_bound_to_their_ids(tmp_path: Path) -> None:
    vault = RocksVault(tmp_path / "v", b"k" * 32)
    vault.put(PAIRS)
    rows = dict(vault._store.scan(b""))
    assert all(key not in row for row in rows.values() for _, key in PAIRS)
    vault._store.write({IDS[0]: rows[IDS[1]]})
    with pytest.raises(Unavailable, match="damaged"):
        vault.get_many([IDS[0]])
    vault.close()


def test_another_master_key_is_refused_by_name(tmp_path: Path) -> None:
    RocksVault(tmp_path / "v", b"k" * 32).close()
    with pytest.raises(Unavailable, match="master key"):
        RocksVault(tmp_path / "v", b"K" * 32)
    RocksVault(tmp_path / "v", b"k" * 32, create=False).close()


def test_a_vault_without_its_check_row_lets_no_key_in(tmp_path: Path) -> None:
    vault = RocksVault(tmp_path / "v", b"k" * 32)
    vault.put(PAIRS)
    vault._store.write({b"check": None})
    vault.close()
    for key in (b"K" * 32, b"k" * 32):
        with pytest.raises(Unavailable, match="which master key"):
            RocksVault(tmp_path / "v", key)
