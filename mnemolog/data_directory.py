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
What is missing, unreadable or newer than this software is named with its path and what to type;
nothing that was there is ever made afresh in silence.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import uuid
from collections.abc import Mapping
from pathlib import Path

import msgspec

from schemas.errors import StoreLocked, StoreUnusable, Unavailable
from schemas.files import replace, write_new

FORMAT = 1
DEFAULT_PARTITIONS = 4
MAX_PARTITIONS = 1024


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`mnemolog.json`."""

    format: int
    id: str
    partitions: int


class _Written(msgspec.Struct):
    """As much of `mnemolog.json` as every version can read."""

    format: int


class _Current(msgspec.Struct):
    """`state/CURRENT`."""

    generation: str


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
        self.rebuild = f"type: mnemolog --data {shlex.quote(str(path))} replay"

    @property
    def exists(self) -> bool:
        """Whether it was initialised."""
        return (self.path / "mnemolog.json").exists()

    def init(self, partitions: int = DEFAULT_PARTITIONS) -> Manifest:
        """Create it; `Unavailable` if it is there already or holds something else."""
        if not 1 <= partitions <= MAX_PARTITIONS:
            raise Unavailable("data", f"{partitions} partitions", f"use 1 to {MAX_PARTITIONS}")
        self._check_path()
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
        manifest = Manifest(FORMAT, uuid.uuid4().hex, partitions)
        write_new(self.path / "mnemolog.json", msgspec.json.encode(manifest) + b"\n")
        return self.manifest()

    def manifest(self) -> Manifest:
        """What was fixed at creation; `Unavailable` if it cannot be read or is newer."""
        self._check_path()
        path = self.path / "mnemolog.json"
        try:
            content = path.read_bytes()
            if msgspec.json.decode(content, type=_Written).format > FORMAT:
                raise self._newer(content)
            return msgspec.json.decode(content, type=Manifest)
        except FileNotFoundError:
            if self.opened or (self.path / "log").exists():
                raise Unavailable(
                    "data", f"{path} is missing", "restore it from a backup"
                ) from None
            raise Unavailable(
                "data",
                f"{self.path} is no data directory",
                f"type: mnemolog --data {self.path} init",
            ) from None
        except (OSError, msgspec.MsgspecError) as error:
            raise Unavailable("data", f"{path}: {error}", "restore it from a backup") from error

    def _check_path(self) -> None:
        """Refuse a path that the stores inside could not open."""
        try:
            str(self.path).encode()
        except UnicodeEncodeError:
            raise Unavailable(
                "data", f"the path {self.path} is not UTF-8", "use a directory whose path is"
            ) from None

    def _newer(self, content: bytes) -> Unavailable:
        written = msgspec.json.decode(content, type=_Written).format
        return Unavailable(
            "data",
            f"{self.path} has format {written}, newer than this software, which knows {FORMAT}",
            "use the version that wrote it, or a newer one",
        )

    def acquire(self) -> None:
        """Take the directory for this process; `StoreLocked` if another holds it."""
        try:
            self._lock = take(self.path / "lock")
        except BlockingIOError as error:
            raise StoreLocked(
                "data",
                f"{error} uses {self.path}",
                "stop it, or go through it: --url, or the same --data while it serves",
            ) from None

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
        write_new(self.path / "opened", b"")

    # Generations of projections

    def generation(self) -> Path:
        """The projections in use."""
        current = self.path / "state" / "CURRENT"
        try:
            name = msgspec.json.decode(current.read_bytes(), type=_Current).generation
            if not name.isdecimal():
                raise msgspec.ValidationError(f"{name} is no generation")
        except FileNotFoundError:
            name = "0"
            self.use_generation(name)
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreUnusable("projections", f"{current}: {error}", self.rebuild) from error
        return self.path / "state" / name

    def give_up_projections(self) -> None:
        """Have the next start rebuild them; the old ones go then. Nobody may hold the directory."""
        self.acquire()
        try:
            used = [
                int(one.name) for one in (self.path / "state").iterdir() if one.name.isdecimal()
            ]
            self.use_generation(str(max(used, default=-1) + 1))
        finally:
            self.release()

    def use_generation(self, name: str) -> None:
        """Switch to another generation, atomically."""
        replace(self.path / "state" / "CURRENT", msgspec.json.encode(_Current(name)))


def take(path: Path) -> int:
    """A lock file's handle, held for this process until it is closed; the file names the process.

    Raises `BlockingIOError` saying who holds it, or `Unavailable` if it cannot be made.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(
            "data",
            f"cannot use {path}: {error.strerror}",
            f"make {path.parent} writable for this user: see its rights, and how it is mounted",
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
    except BlockingIOError:
        holder = os.pread(handle, 20, 0).decode()
        os.close(handle)
        raise BlockingIOError(f"process {holder}" if holder else "another process") from None
    except OSError as error:
        os.close(handle)
        raise Unavailable(
            "data", f"cannot write {path}: {error.strerror}", "free the disk or mend it"
        ) from error
    return handle
