"""What every verb shares: which memory, which scope, how to answer, how to fail.

Exit status: 0 done, 1 a negative that is an answer, 2 wrong usage, 3 unavailable. With `--json`
standard output is one JSON document, the same as HTTP's; everything else goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import typer
from pydantic import BaseModel

from gateway.errors import Conflict, LedgerDamaged, Refused
from mnemolog.data_directory import DataDirectory
from mnemolog.doors import Door, EmbeddedDoor, HttpDoor
from mnemolog.mending import mend
from schemas.errors import InvalidEvent, LedgerCorrupt, MnemologError, StoreLocked, Unavailable
from schemas.master import MasterKey
from schemas.principals import local_api_key

DONE, NEGATIVE, USAGE, UNAVAILABLE = 0, 1, 2, 3

Tenant = typer.Option(None, "--tenant", envvar="MNEMOLOG_TENANT", help="Scope: tenant.")
Namespace = typer.Option(None, "--namespace", envvar="MNEMOLOG_NAMESPACE", help="Scope: namespace.")
Subject = typer.Option(None, "--subject", envvar="MNEMOLOG_SUBJECT", help="Scope: subject.")
Branch = typer.Option("main", "--branch", envvar="MNEMOLOG_BRANCH", help="Scope: branch.")
ValidAt = typer.Option(None, "--valid-at", help="As of this valid time (RFC 3339).")
RecordedAt = typer.Option(None, "--recorded-at", help="As recorded by then (RFC 3339).")
Kafka = typer.Option(
    None, "--kafka", envvar="MNEMOLOG_KAFKA", help="Broker addresses HOST:PORT,…: the cluster."
)


class Session(msgspec.Struct):
    """The global options of one call."""

    data: Path
    json: bool
    url: str | None
    key: str | None

    @property
    def directory(self) -> DataDirectory:
        """The data directory that is meant."""
        return DataDirectory(self.data, os.environ)

    def master(self, *, create: bool = True) -> MasterKey:
        """The master key of the data directory; made if `create`, unless there has been one."""
        return MasterKey.load(self.data, os.environ, create=create and not self.directory.opened)

    @contextmanager
    def door(self, *, create: bool = False) -> Iterator[Door]:
        """The memory that is meant: a server, a serving process, or the directory itself."""
        opened = self._open(create)
        try:
            yield opened
        finally:
            opened.close()

    def _open(self, create: bool) -> Door:
        if self.url is not None:
            if not self.key:
                raise Unavailable("server", "no API key was given", "pass --key or $MNEMOLOG_KEY")
            return HttpDoor(self.url, self.key)
        try:
            return EmbeddedDoor.open(self.data, create=create)
        except StoreLocked:
            served = self.directory.served()
            if served is None:
                raise
            return HttpDoor(served.url, local_api_key(self.master(create=False)))

    def answer(
        self, answer: BaseModel | dict[str, Any] | list[Any], human: Callable[[], None]
    ) -> None:
        """Print an answer: JSON, or what `human` prints."""
        if self.json:
            print(to_json(answer))
        else:
            human()


def to_json(answer: Any) -> str:
    """One line of JSON."""
    plain = answer.model_dump(mode="json") if isinstance(answer, BaseModel) else answer
    return _in_utf_8(json.dumps(plain, ensure_ascii=False))


def _in_utf_8(text: str) -> str:
    """Text that can be printed: a byte of a path that is no UTF-8 shows as its escape."""
    return text.encode(errors="backslashreplace").decode()


def session(context: typer.Context) -> Session:
    """The session that the root callback made."""
    found = context.find_root().obj
    assert isinstance(found, Session)
    return found


def scope(
    tenant: str | None, namespace: str | None, subject: str | None, branch: str
) -> dict[str, str]:
    """A whole scope, or wrong usage naming what is missing."""
    given = {"tenant": tenant, "namespace": namespace, "subject": subject}
    for name, value in given.items():
        if value is None:
            raise typer.BadParameter(
                f"say it, or set $MNEMOLOG_{name.upper()}", param_hint=f"--{name}"
            )
    return {
        "tenant": tenant or "",
        "namespace": namespace or "",
        "subject": subject or "",
        "branch": branch,
    }


def say(text: str = "") -> None:
    """A line for people."""
    print(_in_utf_8(text))


def note(text: str) -> None:
    """A line beside the answer, on standard error."""
    print(_in_utf_8(text), file=sys.stderr)


def fail(error: MnemologError, as_json: bool, *, event: bool) -> int:
    """Tell an error and give the exit status it stands for."""
    document, status = _problem(error, event)
    if as_json:
        print(to_json(document))
    else:
        where = f"{document['field']}: " if document.get("field") else ""
        note(f"error: {where}{document['detail']}")
        if document.get("remedy"):
            note(f"  what to do: {document['remedy']}")
    return status


def _problem(error: MnemologError, event: bool) -> tuple[dict[str, Any], int]:
    if isinstance(error, InvalidEvent):
        fault = error.fault
        document = {
            "code": fault.code,
            "field": fault.field,
            "detail": fault.detail,
            "limit": fault.limit,
            "remedy": fault.remedy,
        }
        return document, NEGATIVE if event else USAGE
    if isinstance(error, Unavailable):
        detail = f"{error.part}: {error.detail}"
        return {"code": error.code, "detail": detail, "remedy": error.remedy}, UNAVAILABLE
    if isinstance(error, Refused):
        away = isinstance(error, LedgerDamaged | Conflict)
        document = {"code": error.code, "detail": error.detail, "remedy": error.remedy}
        return document, UNAVAILABLE if away else NEGATIVE
    if isinstance(error, LedgerCorrupt):
        document = {"code": "ledger_damaged", "detail": str(error), "remedy": mend(error)}
        return document, UNAVAILABLE
    return {"code": "error", "detail": str(error), "remedy": "mnemolog doctor"}, UNAVAILABLE
