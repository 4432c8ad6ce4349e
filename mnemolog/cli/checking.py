"""Verbs that hold the ledger against what is known of it: verify, checkpoint (SPEC §3)."""

from __future__ import annotations

from pathlib import Path

import typer

from mnemolog.cli.session import NEGATIVE, say, session
from schemas import answers
from schemas.files import replace
from schemas.reading import read_json


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("verify")(verify)
    app.command("checkpoint")(checkpoint)


def verify(
    context: typer.Context,
    deep: bool = typer.Option(False, "--deep", help="Also bodies, witnesses and projections."),
    against: Path | None = typer.Option(
        None, "--against", help="Also whether what this checkpoint saw is still there."
    ),
    trust: bool = typer.Option(
        False, "--trust-as-found", help="Forget the anchors first: accept what is missing."
    ),
) -> None:
    """Check the ledger: chain, sequence, times, anchors, and a checkpoint that was kept."""
    asked = session(context)
    kept = None if against is None else _document(against)
    with asked.door() as door:
        if trust:
            door.trust_as_found()
        found = door.verify(deep, kept)
    asked.answer(found, lambda: _tell(found))
    raise typer.Exit(0 if found.ok else NEGATIVE)


def checkpoint(
    context: typer.Context,
    output: Path | None = typer.Option(None, "--output", help="Write it to this file."),
) -> None:
    """Sign where every partition stands: keep it elsewhere, for `verify --against`."""
    asked = session(context)
    with asked.door() as door:
        made = door.checkpoint()
    document = made.model_dump_json(indent=2)
    if output is not None:
        replace(output, document.encode() + b"\n")

    def human() -> None:
        if output is None:
            say(document)
        else:
            total = sum(one.entries for one in made.partitions)
            say(f"{output}: {total} entries at {made.made_at}, signed by {made.public_key}")

    asked.answer(made, human)


def _document(path: Path) -> object:
    """A file's JSON."""
    try:
        return read_json(path.read_bytes())
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}", param_hint="--against") from error


def _tell(found: answers.Verification) -> None:
    """A verification for people."""
    total = sum(partition.entries for partition in found.partitions)
    say(f"{'ok' if found.ok else 'DAMAGED'}: {total} entries in {len(found.partitions)} partitions")
    for kind, findings in (("damage", found.damage), ("notice", found.notices)):
        for one in findings:
            at = "" if one.sequence is None else f", entry {one.sequence}"
            say(f"  {kind}: partition {one.partition}{at}: {one.what}: {one.detail}")
