"""Lexical search over RocksDB: what building a block costs, and a query of six words (SPEC §8).

Texts are 50 words drawn from a Zipf vocabulary of 30,000. Queries of one kind are drawn like the
texts, so that most of their words are common; those of the other kind hold two common words and
four rare ones. Scopes keep up to `BLOCK` documents as tail. Times are wall clock, the store warm.

Run: `python -m benchmarks.lexical [DOCUMENTS ...]` (default 1000 11000 101000).
"""

from __future__ import annotations

import itertools
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence

import numpy as np
from rocksdict import Options, Rdict

from projections.lexical import Tail, search
from projections.postings import BLOCK, build_block
from projections.terms import Texts
from projections.text import tokens

SCOPE = b"\0" * 16
QUERIES = 200


class Rows:
    """One scope in a RocksDB directory, with its tail in memory and nothing hidden."""

    def __init__(self, path: str) -> None:
        self._db = Rdict(path, Options(raw_mode=True))
        self.count = 0
        self.tail = Tail(np.empty(0, np.int64), Texts(()))

    def add_block(self, texts: Sequence[str]) -> float:
        """Build and store one block; the seconds that building took."""
        start = time.perf_counter()
        rows = build_block(self.count, texts)
        seconds = time.perf_counter() - start
        for key, row in rows.items():
            self._db[self._key(SCOPE, self.count, key)] = row
        self.count += 1
        return seconds

    def finish(self, texts: Sequence[str]) -> None:
        """Take the texts after the last block as tail."""
        first = self.count * BLOCK
        self.tail = Tail(np.arange(first, first + len(texts)), Texts(texts))
        self._db.flush()

    def rows(self, keys: Sequence[tuple[int, bytes]]) -> list[bytes | None]:
        """Stored rows of blocks."""
        rows = self._db.get([self._key(SCOPE, block, key) for block, key in keys])
        assert rows is not None
        return list(rows)

    def visible(self, ordinals: Sequence[int]) -> set[int]:
        """All of them."""
        return set(ordinals)

    def candidate(self, ordinal: int) -> int:
        """Each for itself."""
        return ordinal

    @staticmethod
    def _key(scope: bytes, block: int, key: bytes) -> bytes:
        return b"L" + scope + block.to_bytes(4, "big") + key


def percentile(times: Sequence[float], percent: int) -> float:
    """Milliseconds at a percentile of seconds."""
    return statistics.quantiles(times, n=100)[percent - 1] * 1e3


def measure(documents: int, rng: random.Random) -> str:
    """One line of results for a scope of so many documents."""
    words = ["".join(rng.choices("etaoinshrdlucm", k=rng.randint(2, 9))) for _ in range(30_000)]
    cumulative = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(words))))

    def texts(count: int) -> list[str]:
        return [" ".join(rng.choices(words, cum_weights=cumulative, k=50)) for _ in range(count)]

    queries = {
        "common": [
            " ".join(rng.choices(words, cum_weights=cumulative, k=6)) for _ in range(QUERIES)
        ],
        "mixed": [
            " ".join(rng.choices(words[:50], k=2) + rng.choices(words[2000:], k=4))
            for _ in range(QUERIES)
        ],
    }
    line = f"{documents:>9,}"
    with tempfile.TemporaryDirectory() as path:
        rows = Rows(path)
        blocks = max(0, documents - 1) // BLOCK
        built = [rows.add_block(texts(BLOCK)) for _ in range(blocks)]
        rows.finish(texts(documents - blocks * BLOCK))
        every = np.ones(len(rows.tail.ordinals), np.bool_)
        for kind in queries.values():
            times = []
            for query in kind:
                start = time.perf_counter()
                search(rows.tail, every, rows, query, 10)
                times.append(time.perf_counter() - start)
            line += f"{percentile(times, 50):>10.1f}{percentile(times, 95):>8.1f}"
    return line + (f"{statistics.median(built) / BLOCK * 1e6:>12.1f}" if built else f"{'-':>12}")


def main() -> None:
    """Print the table."""
    rng = random.Random(20260501)
    sizes = [int(size) for size in sys.argv[1:]] or [1_000, 11_000, 101_000]
    sample = "I moved to Berlin in May; the ship-check at bay 7 was done by Alice before noon. " * 4
    start = time.perf_counter()
    for _ in range(10_000):
        tokens(sample)
    print(f"tokens of {len(sample)} bytes: {(time.perf_counter() - start) * 100:.1f} µs")
    print(f"{'':>9}{'common words, ms':>18}{'mixed words, ms':>18}{'build':>12}")
    print(f"{'documents':>9}{'p50':>10}{'p95':>8}{'p50':>10}{'p95':>8}{'µs/document':>12}")
    for size in sizes:
        print(measure(size, rng), flush=True)


if __name__ == "__main__":
    main()
