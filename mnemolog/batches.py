"""Batches that one request holds: at most `BATCH` items and `REQUEST_BYTES` of JSON (INTERFACE)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from schemas.limits import REQUEST_BYTES

BATCH = 500
FRAME = 2
"""Bytes an item at most adds to a JSON array beside its own: brackets and a comma."""

T = TypeVar("T")


def batches(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in order, in lists that one request holds; `size` gives an item's bytes as JSON.

    An item that alone is larger than a request is a batch of its own.
    """
    batch: list[T] = []
    filled = 0
    for item in items:
        added = size(item) + FRAME
        if batch and (len(batch) == BATCH or filled + added > REQUEST_BYTES):
            yield batch
            batch, filled = [], 0
        batch.append(item)
        filled += added
    if batch:
        yield batch
