"""A data directory: what stands in it, who holds it, and where its anchors are kept.

    mnemolog.json    format, id, count of partitions (fixed at creation)
    master.key       unless the master secret comes from the environment
    keys.json        principals          policy.toml    what differs from the default policy
    log/ vault/      the embedded log and the record keys
    state/NAME/pN    projections; state/CURRENT names the generation in use
    opened           log and vault were made: they are never made afresh again
    anchored         the anchors that were written last: one that is gone or older is damage
    damage.json      what `verify` found and what it stopped
    lock             held by the one process that uses the directory
    serve.json       how other processes reach it, while `serve` runs

Anchors stand outside, in the user's state directory, so that an older copy of the directory shows.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path

import msgspec

from schemas.errors import StoreLocked, Unavailable
from schemas.files import replace, write_new

FORMAT = 1
DEFAULT_PARTITIONS = 4
MAX_PARTITIONS = 1024


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`mnemolog.json`."""

    format: int
    id: str
    partitions: int


class Served(msgspec.Struct, frozen=True):
    """`serve.json`: where the process that holds the directory answers."""

    url: str
    pid: int


class DataDirectory:
    """Paths and ownership of one data directory."""

    def __init__(self, path: Path, env: Mapping[str, str]) -> None:
        self.path = path
        self._env = env
        self._lock: int | None = None

    @property
    def exists(self) -> bool:
        """Whether it was initialised."""
        return (self.path / "mnemolog.json").exists()

    def init(self, partitions: int = DEFAULT_PARTITIONS) -> Manifest:
        """Create it; `Unavailable` if it is there already or holds something else."""
        if not 1 <= partitions <= MAX_PARTITIONS:
            raise Unavailable("data", f"{partitions} partitions", f"use 1 to {MAX_PARTITIONS}")
        if self.exists:
            raise Unavailable(
                "data", f"{self.path} is a data directory already", "use it, or choose another"
            )
        if self.path.exists() and any(
            child.name not in ("master.key", "keys.json", "policy.toml", ".keys.json.lock")
            for child in self.path.iterdir()
        ):
            raise Unavailable(
                "data", f"{self.path} is not empty and no data directory", "choose an empty one"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        manifest = Manifest(FORMAT, uuid.uuid4().hex, partitions)
        write_new(self.path / "mnemolog.json", msgspec.json.encode(manifest) + b"\n")
        return self.manifest()

    def manifest(self) -> Manifest:
        """What was fixed at creation; `Unavailable` if it cannot be read or is newer."""
        path = self.path / "mnemolog.json"
        try:
            manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
        except FileNotFoundError:
            raise Unavailable(
                "data",
                f"{self.path} is no data directory",
                f"type: mnemolog --data {self.path} init",
            ) from None
        except (OSError, msgspec.MsgspecError) as error:
            raise Unavailable("data", f"{path}: {error}", "restore it from a backup") from error
        if manifest.format > FORMAT:
            raise Unavailable(
                "data",
                f"{self.path} has format {manifest.format}, newer than this software",
                "use the version that wrote it, or a newer one",
            )
        return manifest

    def acquire(self) -> None:
        """Take the directory for this process; `StoreLocked` if another holds it."""
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise StoreLocked(
                "data",
                f"another process uses {self.path}",
                "stop it, or go through it: --url, or the same --data while it serves",
            ) from None
        self._lock = handle

    def release(self) -> None:
        """Give it back; idempotent."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def served(self) -> Served | None:
        """Where a serving process can be reached, if one says so."""
        try:
            return msgspec.json.decode((self.path / "serve.json").read_bytes(), type=Served)
        except (OSError, msgspec.MsgspecError):
            return None

    def announce(self, url: str) -> None:
        """Say where this process serves."""
        replace(self.path / "serve.json", msgspec.json.encode(Served(url, os.getpid())))

    def withdraw(self) -> None:
        """Stop saying so."""
        (self.path / "serve.json").unlink(missing_ok=True)

    def anchors_path(self) -> Path:
        """Where the anchors of this installation stand, outside the directory."""
        base = self._env.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
        return Path(base) / "mnemolog" / f"{self.manifest().id}.anchors"

    def anchored_path(self) -> Path:
        """Where the directory remembers the anchors that were written."""
        return self.path / "anchored"

    @property
    def opened(self) -> bool:
        """Whether log and vault were made: their loss is never made good in silence."""
        return (self.path / "opened").exists()

    def mark_opened(self) -> None:
        """Remember that log and vault exist."""
        (self.path / "opened").touch()

    # Generations of projections

    def generation(self) -> Path:
        """The projections in use."""
        current = self.path / "state" / "CURRENT"
        try:
            name = json.loads(current.read_text())["generation"]
        except FileNotFoundError:
            name = "0"
            current.parent.mkdir(parents=True, exist_ok=True)
            self.use_generation("0")
        return self.path / "state" / str(name)

    def use_generation(self, name: str) -> None:
        """Switch to another generation, atomically."""
        replace(self.path / "state" / "CURRENT", json.dumps({"generation": name}).encode())
