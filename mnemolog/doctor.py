"""`doctor`: what is wrong with a data directory, a configuration or a broker, and what to type."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from mnemolog.data_directory import DataDirectory
from projections.rocks import PROJECTION_LAYOUT, look_into
from schemas.errors import MnemologError, StoreLocked, Unavailable
from schemas.master import MasterKey
from schemas.policy import load
from schemas.registry import RegistryFile

LOW_DISK = 1 << 30


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    ok: bool
    detail: str
    remedy: str


def examine(directory: DataDirectory, kafka: str | None) -> list[Finding]:
    """Look at everything that can be looked at without changing it."""
    return [*_data(directory), *(_broker(kafka) if kafka else ())]


def _try(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, look(), "")
    except Unavailable as error:
        return Finding(what, False, error.detail, error.remedy)
    except MnemologError as error:
        return Finding(what, False, str(error), "mnemolog verify --deep")


def _data(directory: DataDirectory) -> Iterator[Finding]:
    path = directory.path
    held = False

    def manifest() -> str:
        return f"{path}, {directory.manifest().partitions} partitions"

    def master() -> str:
        MasterKey.load(path, os.environ, create=False)
        return "found"

    def registry() -> str:
        key = MasterKey.load(path, os.environ, create=False)
        return f"{len(RegistryFile(path / 'keys.json', key).list())} API keys"

    def policy() -> str:
        return "version " + load(path / "policy.toml").version.hex()

    def lock() -> str:
        nonlocal held
        try:
            directory.acquire()
        except StoreLocked:
            held = True
            served = directory.served()
            if served is None:
                raise
            return f"served at {served.url} by process {served.pid}"
        directory.release()
        return "not in use"

    first = _try("data directory", manifest)
    yield first
    if not first.ok:
        return
    yield _try("master key", master)
    yield _try("API keys", registry)
    yield _try("policy", policy)
    yield _try("use", lock)
    if directory.opened and not held:
        yield _try("log", lambda: _whole(path / "log"))
        yield _try("vault", lambda: _whole(path / "vault"))
        yield _try("projections", lambda: _projections(directory))
    anchors = directory.anchors_path()
    if anchors.exists():
        yield Finding("anchors", True, str(anchors), "")
    elif (path / "log").exists():
        yield Finding(
            "anchors",
            False,
            f"{anchors} is missing: a truncated ledger would not show",
            "restore it from a backup, or to trust the ledger as found, type: "
            "mnemolog verify --trust-as-found",
        )
    free = shutil.disk_usage(path).free
    yield Finding("disk", free > LOW_DISK, f"{free // (1 << 20)} MiB free", "make room on the disk")


def _whole(path: Path) -> str:
    look_into(path)
    return f"{path} can be opened"


def _projections(directory: DataDirectory) -> str:
    state = directory.path / "state"
    if not (state / "CURRENT").exists():
        return f"{state} is gone: the next start rebuilds it from the ledger"
    generation = directory.generation()
    stores = [generation / f"p{number}" for number in range(directory.manifest().partitions)]
    gone = [str(store) for store in stores if not store.exists()]
    for store in stores:
        if store.exists():
            look_into(store, PROJECTION_LAYOUT, directory.rebuild)
    if gone:
        return f"{', '.join(gone)} is gone: the next start rebuilds it from the ledger"
    return f"{generation} can be opened"


def _broker(kafka: str) -> Iterator[Finding]:
    from mnemolog.cluster import check_topics

    def topics() -> str:
        wrong = check_topics(kafka)
        if wrong:
            raise Unavailable("topics", "; ".join(wrong), f"mnemolog topics create --kafka {kafka}")
        return "as they must be"

    yield _try(f"broker {kafka}", topics)
