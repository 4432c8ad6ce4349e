"""Files that are whole or not there: temporary file, fsync, then link or rename (mode 0600).

Errors of the file system are `Unavailable` with the path; nothing half written is ever seen under
the name.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from schemas.errors import Unavailable


def write_new(path: Path, content: bytes) -> bool:
    """Write a file unless the name is taken; whether this call made it."""

    def link(temporary: Path) -> bool:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        return True

    return _publish(path, content, link)


def replace(path: Path, content: bytes) -> None:
    """Write a file in place of the one that has the name, if any."""

    def rename(temporary: Path) -> bool:
        os.rename(temporary, path)
        return True

    _publish(path, content, rename)


def _publish(path: Path, content: bytes, publish: Callable[[Path], bool]) -> bool:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            done = publish(temporary)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_directory(path.parent)
    except OSError as error:
        raise Unavailable(
            "files",
            f"cannot write {path}: {error.strerror}",
            "check the directory's rights and space",
        ) from error
    return done


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
