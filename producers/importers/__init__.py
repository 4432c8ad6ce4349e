"""Importers: what people already have, read as events (INTERFACE "CLI", `import`).

Rules:
- An importer is a pure generator from a path to events (INTERFACE "Events", as JSON objects) and
  `Skipped` items, in the order of the source. It publishes nothing and reads no clock, no
  randomness and no network.
- Importing the same input twice gives the same events: ids and idempotency keys come from the
  source's own ids or from SHA-256 of its content, times from the source alone. Admission then marks
  each of them `duplicate` (SPEC §3, idempotency).
- Nothing is left out in silence: every record that does not become an event is `Skipped`, saying
  where, why and what to do. `ImportReport` counts both, and its counts add up.
- What cannot be read at all raises `UnreadableSource`.
"""

from __future__ import annotations

from producers.importers.chatgpt import read_chatgpt
from producers.importers.git import measure_git, read_git
from producers.importers.jsonl import read_jsonl
from producers.importers.mbox import read_mbox
from producers.importers.report import (
    Event,
    Importer,
    ImportReport,
    Item,
    Progress,
    ScopeJson,
    Skipped,
    UnreadableSource,
    measure_bytes,
)

IMPORTERS: dict[str, Importer] = {
    "jsonl": Importer(read_jsonl, measure_bytes, "bytes"),
    "chatgpt": Importer(read_chatgpt, measure_bytes, "bytes"),
    "mbox": Importer(read_mbox, measure_bytes, "bytes"),
    "git": Importer(read_git, measure_git, "commits"),
}

__all__ = [
    "IMPORTERS",
    "Event",
    "ImportReport",
    "Importer",
    "Item",
    "Progress",
    "ScopeJson",
    "Skipped",
    "UnreadableSource",
    "measure_bytes",
    "measure_git",
    "read_chatgpt",
    "read_git",
    "read_jsonl",
    "read_mbox",
]
