"""Event files: one JSON event a line, UTF-8, passed on as it stands (INTERFACE "Events").

- A byte order mark, CRLF, blank lines and a last line without a newline are fine. A line that is no
  JSON object, says a key twice, is too long, or holds a NUL or half a character is
  skipped by its number; the next line goes on.
- The event stays the author's. Only what would be made up at random is filled in: `event_id` from
  SHA-256 of the event, `fact_id` of an assertion and `idempotency_key` from the event id; and
  `scope`, where a line has none at all, from the caller. A missing time stays missing: it means the
  time of publishing, which no reader of a file knows.
- Whether the event is a good one is for admission to say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from producers.importers.build import derived_id, text_fault
from producers.importers.report import (
    Item,
    Progress,
    ScopeJson,
    Skipped,
    no_progress,
    shown,
    unreadable,
)
from schemas.errors import InvalidEvent
from schemas.limits import REQUEST_BYTES
from schemas.reading import read_json

LINE_BYTES = REQUEST_BYTES
_BOM = b"\xef\xbb\xbf"


def read_jsonl(path: Path, scope: ScopeJson, *, progress: Progress = no_progress) -> Iterator[Item]:
    """Events of an event file; `scope` is for lines without one. Position: bytes read.

    Raises `UnreadableSource` if the file cannot be opened or read.
    """
    for number, (position, line) in enumerate(_lines(path), start=1):
        where = f"line {number}"
        if line is None:
            yield Skipped(
                where,
                f"longer than the limit of {LINE_BYTES} bytes",
                "give large content by content_ref",
            )
        elif stripped := (line.removeprefix(_BOM) if number == 1 else line).strip():
            yield _event(stripped, where, scope)
        progress(position)


def _lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """(bytes read so far, line), the line None where it passes the limit."""
    position = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(LINE_BYTES + 2):
                position += len(line)
                if len(line.rstrip(b"\r\n")) <= LINE_BYTES:
                    yield position, line
                    continue
                while not line.endswith(b"\n") and (line := file.readline(LINE_BYTES)):
                    position += len(line)
                yield position, None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _event(line: bytes, where: str, scope: ScopeJson) -> Item:
    try:
        event = read_json(line)
        fault = text_fault(event)
    except InvalidEvent as error:
        fault = error.fault
    except RecursionError:
        return Skipped(where, "nested too deeply", "nest no deeper than events do")
    if fault is not None:
        place = f"{where}, {shown(fault.field)}" if fault.field else where
        return Skipped(place, fault.detail, fault.remedy)
    if not isinstance(event, dict):
        return Skipped(where, "not a JSON object", "write one event, a JSON object, a line")
    if "scope" not in event:
        if not scope:
            return Skipped(
                where, "no scope", "add a scope, or say --tenant, --namespace, --subject"
            )
        event["scope"] = dict(scope)
    if "event_id" not in event:
        event["event_id"] = derived_id("jsonl", json.dumps(event, sort_keys=True))
    if event.get("kind") == "assertion" and "fact_id" not in event:
        event["fact_id"] = derived_id("jsonl-fact", json.dumps(event["event_id"]))
    event.setdefault("idempotency_key", event["event_id"])
    return event
