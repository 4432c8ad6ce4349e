"""Rows are bound to their key, their value and their store (SPEC §5)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from projections.checked import CheckedStore
from projections.kv_memory import MemoryStore
from schemas.errors import StoreDamaged

KEY = b"F" + b"k" * 32
OTHER = b"F" + b"l" * 32


def altered(inner: MemoryStore) -> None:
    value = inner.get(KEY) or b""
    inner.write({KEY: bytes((value[0] ^ 1,)) + value[1:]})


def injected(inner: MemoryStore) -> None:
    inner.write({KEY: b"made up by hand"})


def cut(inner: MemoryStore) -> None:
    inner.write({KEY: (inner.get(KEY) or b"")[:3]})


def moved(inner: MemoryStore) -> None:
    inner.write({KEY: inner.get(OTHER)})


def of_another_store(inner: MemoryStore) -> None:
    CheckedStore(inner, bytes((1,)) * 32).write({KEY: b"row"})


@pytest.mark.parametrize("tamper", [altered, injected, cut, moved, of_another_store])
@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.get(KEY),
        lambda store: store.get_many([OTHER, KEY]),
        lambda store: list(store.scan(b"F")),
        lambda store: list(store.scan(b"F", reverse=True)),
    ],
)
def test_a_row_that_is_not_the_one_written_stops_the_read_by_name(
    tamper: Callable[[MemoryStore], None], read: Callable[[CheckedStore], object]
) -> None:
    inner = MemoryStore()
    store = CheckedStore(inner, bytes(32))
    store.write({KEY: b"row", OTHER: b"another"})
    read(store)
    tamper(inner)
    with pytest.raises(StoreDamaged, match=f"row F {KEY[1:].hex()} was not written here"):
        read(store)
