"""Faults, split by culprit, each saying what to do next (SPEC §2 "fail closed", STYLE 7).

`Fault` is a value: what is wrong with *one event or request*, naming field, limit and remedy.
The exceptions below are for callers (`InvalidEvent`), the stored bytes (`LedgerCorrupt`), and the
machinery (`Unavailable` and its kin). Outcomes such as *duplicate* or *parked* are not errors.
"""

from __future__ import annotations

import msgspec


class Fault(msgspec.Struct, frozen=True, array_like=True):
    """Why an event or a request was not taken.

    `code` is stable and machine-readable, `field` a dotted path or "", `limit` a number or text
    or "", `remedy` what to type or send instead.
    """

    code: str
    field: str
    detail: str
    remedy: str
    limit: str = ""


class MnemologError(Exception):
    """Base of every error that this product raises on purpose."""


class InvalidEvent(MnemologError):
    """The caller's input is at fault; nothing was stored."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault.field or 'event'}: {fault.detail} ({fault.remedy})")
        self.fault = fault


def invalid(code: str, field: str, detail: str, remedy: str, limit: str = "") -> InvalidEvent:
    """The error to raise for one fault."""
    return InvalidEvent(Fault(code, field, detail, remedy, limit))


class Undecodable(MnemologError):
    """Bytes that no known writer's schema explains: dead-letter them with this reason."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class LedgerCorrupt(MnemologError):
    """Stored bytes break a promise: reads of the partition stop.

    `what` is a stable code (`chain`, `hash`, `sequence`, `truncated`, ...), `sequence` the entry at
    which it shows.
    """

    def __init__(self, partition: int, sequence: int, what: str, detail: str) -> None:
        super().__init__(f"partition {partition}, entry {sequence}: {what}: {detail}")
        self.partition = partition
        self.sequence = sequence
        self.what = what
        self.detail = detail


class Unavailable(MnemologError):
    """A part is not there or not yet ready; nothing was answered. `part` names it."""

    code = "unavailable"

    def __init__(self, part: str, detail: str, remedy: str) -> None:
        super().__init__(f"{part}: {detail} ({remedy})")
        self.part = part
        self.detail = detail
        self.remedy = remedy


class ViewBehind(Unavailable):
    """The view has not caught up with the log within the bound: refuse rather than guess."""

    code = "view_behind"


class StoreDamaged(Unavailable):
    """A row is missing, or not the one that was written: nothing is served from the store."""

    code = "ledger_damaged"

    def __init__(self, row: str, state: str = "is missing from the store") -> None:
        super().__init__("projections", f"{row} {state}", "type: mnemolog replay")


class StoreUnusable(Unavailable):
    """A projection's store cannot be opened or read; `remedy` says how it is rebuilt."""


class StoreLocked(Unavailable):
    """Another process holds the data directory."""

    code = "store_locked"
