"""The file of a ChatGPT-style export: `conversations.json`, bare or in the export's .zip.

The array is read one conversation at a time, so that a fault in the middle spoils what comes after
it and not what came before. Numbers are `Decimal`: a time never passes through a float.
UTF-8, with or without a byte order mark; CRLF is white space. Sizes are bounded by `EXPORT_BYTES`,
unpacked.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from producers.importers.report import UnreadableSource, unreadable

EXPORT_BYTES = 2_147_483_648
MEMBER = "conversations.json"

_BLANK = re.compile(r"[ \t\r\n]*")


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent past all use
        return Decimal("NaN")


_DECODER = json.JSONDecoder(parse_float=_number, parse_int=_number, parse_constant=_number)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A decoded element of the array; `share` of the file read so far, in (0, 1]."""

    value: object
    share: float


@dataclass(frozen=True, slots=True)
class Broken:
    """Where the JSON stops making sense: nothing after it was read."""

    line: int
    detail: str


def read_conversations(path: Path) -> Iterator[Conversation | Broken]:
    """The conversations of an export in order. Raises `UnreadableSource`."""
    text = _text(path)
    at = _skip(text, 0)
    if text[at : at + 1] != "[":
        raise UnreadableSource(
            path, "not a list of conversations", f"give the export's {MEMBER}, or the whole .zip"
        )
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        return
    while True:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            yield _broken(text, error.pos, error.msg)
            return
        except RecursionError as error:
            yield _broken(text, at, str(error))
            return
        yield Conversation(value, end / len(text))
        at = _skip(text, end)
        mark = text[at : at + 1]
        if mark == "]":
            return
        if mark != ",":
            yield _broken(text, at, "the list does not go on here")
            return
        at = _skip(text, at + 1)


def _broken(text: str, at: int, detail: str) -> Broken:
    return Broken(text.count("\n", 0, at) + 1, detail)


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _text(path: Path) -> str:
    try:
        raw = _unzipped(path) if zipfile.is_zipfile(path) else _plain(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableSource(
            path, f"not UTF-8 at byte {error.start}", "save the export as UTF-8"
        ) from error


def _plain(path: Path) -> bytes:
    _check_size(path, path.stat().st_size)
    return path.read_bytes()


def _unzipped(path: Path) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            found = [i for i in archive.infolist() if i.filename.split("/")[-1] == MEMBER]
            if not found:
                raise UnreadableSource(path, f"no {MEMBER} in it", "give the export's .zip")
            _check_size(path, found[0].file_size)
            return archive.read(found[0])
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        raise UnreadableSource(
            path, f"the .zip is damaged or encrypted: {error}", "unpack it, or download it again"
        ) from error


def _check_size(path: Path, size: int) -> None:
    if size > EXPORT_BYTES:
        raise UnreadableSource(
            path, f"{size} bytes, the limit is {EXPORT_BYTES}", "split the export"
        )
