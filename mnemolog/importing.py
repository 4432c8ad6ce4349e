"""Importing: a source's events, published in batches, with progress and a report that adds up.

A batch stays within what a request may hold, in events and in bytes; an event that alone is larger
is skipped by name, and spoils no other.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mnemolog.batches import FRAME, batches
from producers.importers import (
    IMPORTERS,
    Event,
    ImportReport,
    Item,
    Skipped,
    UnreadableSource,
    read_git,
)
from producers.importers.report import shown
from schemas import answers
from schemas.errors import Unavailable
from schemas.limits import REQUEST_BYTES

Publish = Callable[[Sequence[dict[str, Any]], float], list[answers.Receipt]]


@dataclass(frozen=True)
class Importing:
    """What to import: kind of source, path, scope, and for `git` the repository's name."""

    kind: str
    path: Path
    scope: dict[str, str]
    name: str | None = None


@dataclass
class Imported:
    """What was read and what became of it."""

    report: ImportReport
    states: Counter[str] = field(default_factory=Counter)
    refused: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The importer's report, receipts by state, and the refused ones."""
        return {
            **self.report.as_json(),
            "receipts": dict(sorted(self.states.items())),
            "refused": self.refused,
        }


def run_import(asked: Importing, publish: Publish, wait: float = 30.0) -> Imported:
    """Read a source to its end and publish it; `Unavailable` if it cannot be read at all."""
    importer = IMPORTERS.get(asked.kind)
    if importer is None:
        kinds = ", ".join(IMPORTERS)
        raise Unavailable(
            "import", f"there is no importer for {asked.kind}", f"use one of: {kinds}"
        )
    done = Imported(ImportReport())
    try:
        total = importer.measure(asked.path)
        with _progress() as bar:
            task = bar.add_task(f"import {asked.kind}", total=total)

            def move(position: int) -> None:
                bar.update(task, completed=position)

            if asked.kind == "git" and asked.name is not None:
                items = read_git(asked.path, asked.scope, progress=move, name=asked.name)
            else:
                items = importer.read(asked.path, asked.scope, progress=move)
            for batch in batches(done.report.sift(_sendable(items)), _size):
                _publish(done, publish, batch, wait)
            move(total)
    except UnreadableSource as error:
        raise Unavailable(str(error.path), error.detail, error.remedy) from error
    return done


def _sendable(items: Iterable[Item]) -> Iterator[Item]:
    """The items, an event that no request can hold as skipped."""
    for item in items:
        if isinstance(item, dict) and (size := _size(item) + FRAME) > REQUEST_BYTES:
            yield Skipped(
                f"event {shown(str(item.get('event_id')))}",
                f"{size} bytes as JSON; a request holds {REQUEST_BYTES}",
                "give large content by content_ref",
            )
        else:
            yield item


def _size(event: Event) -> int:
    """Bytes of an event as JSON, at most."""
    return len(json.dumps(event, ensure_ascii=False).encode())


def _publish(done: Imported, publish: Publish, batch: list[dict[str, Any]], wait: float) -> None:
    for receipt in publish(batch, wait):
        done.states[receipt.state] += 1
        if receipt.state == "rejected":
            done.refused.append(receipt.model_dump(mode="json"))


def _progress() -> Progress:
    """A bar on standard error, where that is a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        disable=not sys.stderr.isatty(),
        transient=True,
    )


__all__ = ["Imported", "Importing", "Skipped", "run_import"]
