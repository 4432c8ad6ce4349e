"""The file of a ChatGPT-style export: `conversations.json`, bare or in the export's .zip.

A large export comes in parts (`conversations-000.json`, …): a .zip's are read in the order of their
names, so that none is left out in silence; a fault in one spoils what comes after it in that part.

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

_MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json", re.DOTALL)
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
    """Where the JSON stops making sense: nothing after it was read in that part ('': the file)."""

    part: str
    line: int
    detail: str


@dataclass(frozen=True, slots=True)
class _Part:
    """A file of conversations and the span of the whole that it is, in [0, 1]."""

    name: str
    raw: bytes
    start: float
    end: float


def read_conversations(path: Path) -> Iterator[Conversation | Broken]:
    """The conversations of an export in order. Raises `UnreadableSource`."""
    try:
        parts = _zipped(path) if zipfile.is_zipfile(path) else _plain(path)
        for part in parts:
            try:
                yield from _conversations(part)
            except _Unusable as error:
                if not part.name:
                    raise UnreadableSource(path, error.detail, error.remedy) from error
                yield Broken(part.name, 1, error.detail)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


class _Unusable(Exception):
    """A part that holds no conversations at all."""

    def __init__(self, detail: str, remedy: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.remedy = remedy


def _conversations(part: _Part) -> Iterator[Conversation | Broken]:
    try:
        text = part.raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        detail = f"not UTF-8 at byte {error.start}"
        raise _Unusable(detail, "save the export as UTF-8") from error
    at = _skip(text, 0)
    if text[at : at + 1] != "[":
        remedy = f"give the export's {MEMBER}, or the whole .zip"
        raise _Unusable("not a list of conversations", remedy)
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        return
    while True:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            yield _broken(part, text, error.pos, error.msg)
            return
        except RecursionError as error:
            yield _broken(part, text, at, str(error))
            return
        yield Conversation(value, part.start + (part.end - part.start) * end / len(text))
        at = _skip(text, end)
        mark = text[at : at + 1]
        if mark == "]":
            return
        if mark != ",":
            yield _broken(part, text, at, "the list does not go on here")
            return
        at = _skip(text, at + 1)


def _broken(part: _Part, text: str, at: int, detail: str) -> Broken:
    return Broken(part.name, text.count("\n", 0, at) + 1, detail)


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _plain(path: Path) -> Iterator[_Part]:
    _check_size(path, path.stat().st_size)
    yield _Part("", path.read_bytes(), 0.0, 1.0)


def _zipped(path: Path) -> Iterator[_Part]:
    try:
        with zipfile.ZipFile(path) as archive:
            found = sorted(
                (i for i in archive.infolist() if _MEMBER.fullmatch(i.filename)),
                key=lambda member: member.filename,
            )
            if not found:
                raise UnreadableSource(path, f"no {MEMBER} in it", "give the export's .zip")
            total = sum(member.file_size for member in found) or 1
            _check_size(path, total)
            read = 0
            for member in found:
                start, read = read, read + member.file_size
                name = member.filename if len(found) > 1 else ""
                yield _Part(name, archive.read(member), start / total, read / total)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        raise UnreadableSource(
            path, f"the .zip is damaged or encrypted: {error}", "unpack it, or download it again"
        ) from error


def _check_size(path: Path, size: int) -> None:
    if size > EXPORT_BYTES:
        raise UnreadableSource(
            path, f"{size} bytes, the limit is {EXPORT_BYTES}", "split the export"
        )
