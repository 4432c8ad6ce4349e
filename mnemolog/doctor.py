"""`doctor`: what is wrong with a data directory, a configuration or a broker, and what to type."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mnemolog.data_directory import DataDirectory
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
        try:
            directory.acquire()
        except StoreLocked:
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
    anchors = directory.anchors_path()
    if anchors.exists():
        yield Finding("anchors", True, str(anchors), "")
    elif (path / "log").exists():
        yield Finding(
            "anchors",
            False,
            f"{anchors} is missing: a truncated ledger would not show",
            "restore it from a backup, or mnemolog verify to trust the ledger as found",
        )
    free = shutil.disk_usage(path).free
    yield Finding("disk", free > LOW_DISK, f"{free // (1 << 20)} MiB free", "make room on the disk")


def _broker(kafka: str) -> Iterator[Finding]:
    from mnemolog.cluster import check_topics

    def topics() -> str:
        wrong = check_topics(kafka)
        if wrong:
            raise Unavailable("topics", "; ".join(wrong), f"mnemolog topics create --kafka {kafka}")
        return "as they must be"

    yield _try(f"broker {kafka}", topics)
