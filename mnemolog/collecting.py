"""Garbage collection in processes that run for long (measured: 5 to 10% of admission's time).

What start-up made is never looked at again, and young objects are looked at every 50,000 instead of
every 700: rows, events and entries are structs that cannot form cycles and are not tracked at all.
"""

from __future__ import annotations

import gc


def collect_seldom() -> None:
    """Set this process's garbage collector for work in large batches."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
