"""What every importer yields and how it is counted: `read` = events + skipped, always.

An importer's `progress` hook is told the position reached, in the unit of its total (`measure`):
bytes of the file, or commits. It never falls, and reaches the total when the source ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from schemas.errors import MnemologError

Event = dict[str, object]
ScopeJson = Mapping[str, str]
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record of the source that became no event: where it is, why, and what would help."""

    where: str
    reason: str
    remedy: str


Item = Event | Skipped


class UnreadableSource(MnemologError):
    """The input as a whole cannot be read; what was yielded before stands."""

    def __init__(self, path: Path, detail: str, remedy: str) -> None:
        super().__init__(f"{shown(str(path))}: {detail} ({remedy})")
        self.path = path
        self.detail = detail
        self.remedy = remedy


class Read(Protocol):
    """Reads a source; `scope` is where its events go, `progress` is told the position."""

    def __call__(
        self, path: Path, scope: ScopeJson, *, progress: Progress = ...
    ) -> Iterator[Item]: ...


@dataclass(frozen=True, slots=True)
class Importer:
    """One kind of source: how to read it, and its total in `unit` (`bytes` or `commits`)."""

    read: Read
    measure: Callable[[Path], int]
    unit: str


@dataclass(slots=True)
class ImportReport:
    """The count of one import; `read` = the sum of `events` by kind + the number of `skipped`."""

    read: int = 0
    events: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)

    def sift(self, items: Iterable[Item]) -> Iterator[Event]:
        """The events among `items`, in order; every item is counted as it passes."""
        for item in items:
            self.read += 1
            if isinstance(item, Skipped):
                self.skipped.append(item)
            else:
                kind = item.get("kind")
                self.events[kind if isinstance(kind, str) else "(no kind)"] += 1
                yield item

    def reasons(self) -> Counter[str]:
        """How many were skipped for each reason."""
        return Counter(item.reason for item in self.skipped)

    def as_json(self) -> dict[str, object]:
        """`{"read", "events": {kind: n}, "skipped": [{"where", "reason", "remedy"}]}`."""
        return {
            "read": self.read,
            "events": dict(sorted(self.events.items())),
            "skipped": [
                {"where": item.where, "reason": item.reason, "remedy": item.remedy}
                for item in self.skipped
            ],
        }


def no_progress(position: int) -> None:
    """The hook of a caller who does not watch."""


def measure_bytes(path: Path) -> int:
    """The total of a file importer: its size in bytes. Raises `UnreadableSource`."""
    try:
        return path.stat().st_size
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> UnreadableSource:
    """The refusal of a file that the system would not open or read."""
    detail = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return UnreadableSource(path, detail, "name a file that exists and that you may read")


def shown(text: str, limit: int = 80) -> str:
    """`text` as a report may print it: cut to `limit` characters, nothing unprintable in it.

    Names and titles of a foreign source would otherwise carry terminal escapes or half characters.
    """
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut
    )
