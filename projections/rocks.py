"""Opening RocksDB the way every store here wants it: raw bytes, one column family, small memtables.

Rules
- Small memtables and a whole-key memtable bloom keep a process far smaller at the same speed.
- A directory that another process holds is `StoreLocked`.
- One that existed and has lost files is named, never quietly made afresh. A marker file beside
  RocksDB's own says that it existed, and which layout its rows have. RocksDB itself takes a missing
  write-ahead log for an empty one; it always leaves at least one, so none at all is a loss.
- Rows of a newer layout are left alone; a projection of an older one is rebuilt, not misread.
- What cannot be read says how it is mended: a projection is rebuilt (`StoreUnusable`), anything
  else comes back from a backup.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    Cache,
    DBRecoveryMode,
    Options,
    Rdict,
    ReadOptions,
    WriteBufferManager,
)

from schemas.errors import StoreLocked, StoreUnusable, Unavailable
from schemas.files import replace

LAYOUT = 1  # of the log's and the vault's rows
PROJECTION_LAYOUT = 4  # of everything in `projections.keys`; raise it and stores are rebuilt
_MARKER = "mnemolog-store"
_MIB = 1024 * 1024
_REMEDIES = {
    "Permission denied": "make it readable and writable for this user",
    "Read-only file system": "mount its file system for writing",
    "No space left on device": "make room on its disk",
    "Too many open files": "raise the limit of open files: ulimit -n",
}
_LOCKED = ("LOCK: Resource temporarily unavailable", "lock hold by current process")


def options() -> Options:
    """Settings for point reads and batches of small rows."""
    chosen = Options(raw_mode=True)
    chosen.create_if_missing(True)
    chosen.set_write_buffer_size(4 * _MIB)
    chosen.set_max_write_buffer_number(6)  # bursts do not wait for a flush
    chosen.set_allow_concurrent_memtable_write(False)  # one writer each
    chosen.set_memtable_whole_key_filtering(True)
    chosen.set_memtable_prefix_bloom_ratio(0.1)
    chosen.set_keep_log_file_num(2)
    chosen.set_write_buffer_manager(_shared_buffers())
    # RocksDB's own default drops everything after damage in the middle of its log, in silence.
    chosen.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    table = BlockBasedOptions()
    table.set_bloom_filter(10, False)
    table.set_block_cache(_shared_cache())
    table.set_cache_index_and_filter_blocks(False)
    chosen.set_block_based_table_factory(table)
    return chosen


@cache
def _shared_cache() -> Cache:
    """One block cache for all stores of a process."""
    return Cache(32 * _MIB)


@cache
def _shared_buffers() -> WriteBufferManager:
    """One bound for the memtables of all stores of a process; nobody waits for it."""
    return WriteBufferManager(32 * _MIB, False)


def open_rocks(path: Path, create: bool, layout: int, rebuild: str) -> Rdict:
    """A RocksDB directory; `Unavailable` or `StoreLocked` naming it and what to do.

    `rebuild` is what to type where it can be rebuilt from the ledger, else "".
    """
    try:
        known = _known(path, layout, rebuild)
        if not known and not create:
            raise unusable(path, "it does not exist", rebuild)
        path.mkdir(parents=True, exist_ok=True)
        database = Rdict(str(path), options())
    except Unavailable:
        raise
    except Exception as error:  # rocksdict raises bare Exception for whatever RocksDB says
        text = str(error)
        if any(words in text for words in _LOCKED):
            raise StoreLocked(
                f"store {path}", "another process holds it", "stop that process"
            ) from error
        raise unusable(path, text, rebuild) from error
    if not (path / _MARKER).exists():
        replace(path / _MARKER, b"%d\n" % layout)
    return database


def open_to_read(path: Path) -> Rdict:
    """A store as it is on disk now, also beside the process that holds it."""
    try:
        return Rdict(str(path), options(), access_type=AccessType.read_only())
    except Exception as error:  # rocksdict raises bare Exception for whatever RocksDB says
        raise unusable(path, str(error), "") from error


def look_into(path: Path, layout: int = LAYOUT, rebuild: str = "") -> None:
    """Open a store that nobody holds without writing to it; raises as opening it would."""
    try:
        if not _known(path, layout, rebuild):
            raise unusable(path, "it does not exist", rebuild)
        Rdict(str(path), options(), access_type=AccessType.read_only()).close()
    except Unavailable:
        raise
    except Exception as error:  # rocksdict raises bare Exception for whatever RocksDB says
        raise unusable(path, str(error), rebuild) from error


def _known(path: Path, layout: int, rebuild: str) -> bool:
    """Whether a store stands there; raises if it is not whole or of another layout."""
    marker = path / _MARKER
    known, present = marker.exists(), (path / "CURRENT").exists()
    if not present and (known or any(path.glob("*.sst"))):
        raise unusable(path, "its files are gone or damaged", rebuild)
    if not known:
        return present
    if not any(path.glob("*.log")):
        raise unusable(
            path, "its write-ahead log (*.log) is gone, and what was written last with it", rebuild
        )
    content = marker.read_bytes().strip() or b"%d" % LAYOUT
    if not content.isdigit():
        raise unusable(path, f"{marker} does not tell its layout", rebuild)
    if int(content) > layout:
        refusal = StoreUnusable if rebuild else Unavailable
        raise refusal(
            f"store {path}",
            f"its layout {int(content)} is newer than this software, which knows {layout}",
            "use the version that wrote it, or a newer one" + (rebuild and f"; or {rebuild}"),
        )
    if int(content) < layout:
        raise unusable(path, f"its layout {int(content)} is older than {layout}", rebuild)
    return True


def unusable(path: Path, detail: str, rebuild: str) -> Unavailable:
    """What opening or reading a store raises that is not whole."""
    for words, remedy in _REMEDIES.items():
        if words in detail:
            return Unavailable(f"store {path}", detail, remedy)
    if rebuild:
        return StoreUnusable(f"store {path}", detail, rebuild)
    return Unavailable(f"store {path}", detail, "restore it from a backup")


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
