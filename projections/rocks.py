"""Opening RocksDB the way every store here wants it: raw bytes, one column family, small memtables.

Small memtables and a whole-key memtable bloom keep a process far smaller at the same speed. A
directory that another process holds is `StoreLocked`; one that existed and has lost its files is
named, never quietly made afresh: a marker file beside RocksDB's own says that it existed.
"""

from __future__ import annotations

from pathlib import Path

from rocksdict import BlockBasedOptions, Cache, DBRecoveryMode, Options, Rdict, ReadOptions

from schemas.errors import StoreLocked, Unavailable

_MARKER = "mnemolog-store"
_MIB = 1024 * 1024
_LOCKED = ("LOCK: Resource temporarily unavailable", "lock hold by current process")


def options() -> Options:
    """Settings for point reads and batches of small rows."""
    chosen = Options(raw_mode=True)
    chosen.create_if_missing(True)
    chosen.set_write_buffer_size(4 * _MIB)
    chosen.set_max_write_buffer_number(3)
    chosen.set_memtable_whole_key_filtering(True)
    chosen.set_memtable_prefix_bloom_ratio(0.1)
    chosen.set_keep_log_file_num(2)
    # RocksDB's own default drops everything after damage in the middle of its log, in silence.
    chosen.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    table = BlockBasedOptions()
    table.set_bloom_filter(10, False)
    table.set_block_cache(Cache(16 * _MIB))
    table.set_cache_index_and_filter_blocks(False)
    chosen.set_block_based_table_factory(table)
    return chosen


def open_rocks(path: Path, create: bool = True) -> Rdict:
    """A RocksDB directory; `Unavailable` or `StoreLocked` naming it and what to do."""
    marker = path / _MARKER
    known, present = marker.exists(), (path / "CURRENT").exists()
    if known and not present:
        raise Unavailable(
            f"store {path}", "its files are gone or damaged", "restore it, or type: mnemolog replay"
        )
    if not present and not create:
        raise Unavailable(f"store {path}", "it does not exist", "restore it from a backup")
    path.mkdir(parents=True, exist_ok=True)
    try:
        database = Rdict(str(path), options())
    except Exception as error:  # rocksdict raises bare Exception for whatever RocksDB says
        text = str(error)
        if any(words in text for words in _LOCKED):
            raise StoreLocked(
                f"store {path}", "another process holds it", "stop that process"
            ) from error
        raise Unavailable(f"store {path}", text, "restore it, or type: mnemolog replay") from error
    marker.touch()
    return database


def upper_bound(prefix: bytes) -> bytes | None:
    """The least key beyond every key with a prefix; None if there is none."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,)) if trimmed else None


def bounded(prefix: bytes) -> ReadOptions:
    """Reading no further than a prefix."""
    reading = ReadOptions()
    end = upper_bound(prefix)
    if end is not None:
        reading.set_iterate_upper_bound(end)
    return reading


def damaged(path: Path, error: Exception) -> Unavailable:
    """What a read over damaged bytes raises: never an empty or shortened answer."""
    return Unavailable(
        f"store {path}",
        f"its bytes cannot be read: {error}",
        "restore it from a backup; projections alone can be rebuilt: mnemolog replay",
    )
