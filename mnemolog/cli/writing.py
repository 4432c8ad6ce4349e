"""Verbs that publish: publish, observe, assert, retract, forget, import."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from mnemolog.batches import FRAME, batches
from mnemolog.cli.session import (
    NEGATIVE,
    Branch,
    Kafka,
    Namespace,
    Session,
    Subject,
    Tenant,
    note,
    say,
    scope,
    session,
    to_json,
)
from mnemolog.importing import Importing, run_import
from mnemolog.memory import WAIT, new_id
from mnemolog.publishers import Publisher, publisher
from schemas import answers
from schemas.errors import InvalidEvent, invalid
from schemas.limits import REQUEST_BYTES
from schemas.reading import read_json
from schemas.values import json_value, parse_cli_value

Json = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("publish")(publish)
    app.command("observe")(observe)
    app.command("assert")(assert_)
    app.command("retract")(retract)
    app.command("forget")(forget)
    app.command("import")(import_)


def publish(
    context: typer.Context,
    file: str = typer.Argument(help="An event file (one JSON object a line), or - for input."),
    kafka: str | None = Kafka,
) -> None:
    """Publish an event file; one receipt a line."""
    asked = session(context)
    worst = 0
    with publisher(asked, kafka) as door:
        for batch in batches(_lines(file), len):
            for receipt in _publish_lines(door, batch):
                worst = max(worst, NEGATIVE if receipt.state == "rejected" else 0)
                if asked.json:
                    print(to_json(receipt))
                else:
                    _tell(receipt)
    raise typer.Exit(worst)


def _lines(file: str) -> Iterator[bytes]:
    """The lines that hold something, without a byte order mark before the first."""
    if file == "-":
        yield from _filled(sys.stdin.buffer)
        return
    try:
        with Path(file).open("rb") as opened:
            yield from _filled(opened)
    except OSError as error:
        raise typer.BadParameter(str(error), param_hint="FILE") from None


def _filled(lines: Iterable[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(lines):
        said = line.removeprefix(BOM_UTF8) if number == 0 else line
        if said.strip():
            yield said


def _publish_lines(door: Publisher, lines: list[bytes]) -> list[answers.Receipt]:
    """Receipts in order; a line that is no JSON object is its own `rejected` receipt."""
    receipts: list[answers.Receipt | None] = []
    events: list[Json] = []
    for line in lines:
        try:
            if len(line) > REQUEST_BYTES - FRAME:
                detail, limit = f"a line of {len(line)} bytes", f"{REQUEST_BYTES} bytes"
                remedy = "give large content by content_ref"
                raise invalid("too_long", "", detail, remedy, limit)
            event = read_json(line)
            if not isinstance(event, dict):
                raise invalid("wrong_type", "", "not a JSON object", "write one event a line")
        except InvalidEvent as error:
            fault = error.fault
            receipts.append(
                answers.Receipt(
                    event_id=None,
                    kind=None,
                    token=None,
                    state="rejected",
                    reason=answers.Reason(
                        code=fault.code,
                        field=fault.field,
                        detail=fault.detail,
                        remedy=fault.remedy,
                    ),
                    entry=None,
                )
            )
        else:
            events.append(event)
            receipts.append(None)
    published = iter(door.publish(events, WAIT) if events else ())
    return [next(published) if receipt is None else receipt for receipt in receipts]


def _tell(receipt: answers.Receipt) -> None:
    why = f" ({receipt.reason.code}: {receipt.reason.detail})" if receipt.reason else ""
    say(f"{receipt.state:12} {receipt.kind or '?'} {receipt.event_id or ''}{why}")
    if receipt.reason is not None and receipt.state == "rejected":
        note(f"  what to do: {receipt.reason.remedy}")


def _one(asked: Session, event: Json, extra: Json | None = None) -> None:
    with asked.door(create=True) as door:
        receipt = door.publish_one(event, WAIT)
    plain = {**receipt.model_dump(mode="json"), **(extra or {})}
    asked.answer(plain, lambda: _tell(receipt))
    if extra and not asked.json:
        for name, value in extra.items():
            say(f"  {name}: {value}")
    raise typer.Exit(NEGATIVE if receipt.state == "rejected" else 0)


def observe(
    context: typer.Context,
    text: str = typer.Argument(help="What was said or shown."),
    event_id: str | None = typer.Option(None, "--id", help="The event's id (default a new one)."),
    actor: str | None = typer.Option(None, help="Who said it."),
    role: str = typer.Option("user", help="user, assistant, tool, document or system."),
    at: str | None = typer.Option(None, "--at", help="When (RFC 3339)."),
    sensitivity: str | None = typer.Option(None, help="public, normal, personal or secret."),
    tenant: str | None = Tenant,
    namespace: str | None = Namespace,
    subject: str | None = Subject,
    branch: str = Branch,
) -> None:
    """Publish an observation."""
    event = _given(
        kind="observation",
        scope=scope(tenant, namespace, subject, branch),
        content=text,
        event_id=event_id,
        occurred_at=at,
        sensitivity=sensitivity,
        actor={"id": actor, "role": role} if actor else None,
    )
    _one(session(context), event)


def assert_(
    context: typer.Context,
    entity: str,
    attribute: str,
    value: str,
    source: list[str] = typer.Option(..., "--source", help="The observation that is quoted."),
    quote: list[str] = typer.Option(..., "--quote", help="Its very words."),
    type_: str | None = typer.Option(None, "--type", help="string, integer, decimal, …"),
    from_: str | None = typer.Option(None, "--from", help="Valid from (RFC 3339)."),
    to: str | None = typer.Option(None, "--to", help="Valid until, exclusive."),
    supersedes: str | None = typer.Option(None, help="The fact id that this corrects."),
    fact_id: str | None = typer.Option(None, "--fact-id", help="The fact's id."),
    confidence: float | None = typer.Option(None, help="In [0, 1]."),
    expires: str | None = typer.Option(None, "--expires", help="Not to be used from then on."),
    tenant: str | None = Tenant,
    namespace: str | None = Namespace,
    subject: str | None = Subject,
    branch: str = Branch,
) -> None:
    """Publish an assertion that quotes its source."""
    if len(source) != len(quote):
        raise typer.BadParameter("give one --quote for each --source", param_hint="--quote")
    typed = parse_cli_value(value, type_)
    name = fact_id or new_id()
    premises = [
        {"observation": one, "quote": words} for one, words in zip(source, quote, strict=True)
    ]
    event = _given(
        kind="assertion",
        scope=scope(tenant, namespace, subject, branch),
        fact_id=name,
        entity=entity,
        attribute=attribute,
        value=json_value(typed),
        type=typed.type,
        valid_from=from_,
        valid_to=to,
        supersedes=supersedes,
        confidence=confidence,
        expires_at=expires,
        justifications=[{"premises": premises}],
    )
    _one(session(context), event, {"fact_id": name})


def retract(
    context: typer.Context,
    fact: str = typer.Argument(help="The fact's id."),
    reason: str | None = typer.Option(None, help="Why."),
    tenant: str | None = Tenant,
    namespace: str | None = Namespace,
    subject: str | None = Subject,
    branch: str = Branch,
) -> None:
    """Publish a retraction: this was never right."""
    event = _given(
        kind="retraction",
        scope=scope(tenant, namespace, subject, branch),
        fact_id=fact,
        reason=reason,
    )
    _one(session(context), event)


def forget(
    context: typer.Context,
    observation: str | None = typer.Option(None, help="The observation to delete."),
    fact: str | None = typer.Option(None, help="The fact to delete."),
    whole_subject: bool = typer.Option(
        False, "--whole-subject", help="Everything of the subject up to now, on every branch."
    ),
    whole_scope: bool = typer.Option(
        False, "--scope", help="The same, and later writes are blocked."
    ),
    reason: str | None = typer.Option(None, help="Why."),
    tenant: str | None = Tenant,
    namespace: str | None = Namespace,
    subject: str | None = Subject,
    branch: str = Branch,
) -> None:
    """Publish a deletion. A `--subject` that is said and no other target takes the subject."""
    targets = _given(
        observation=observation,
        fact=fact,
        subject=whole_subject or None,
        scope=whole_scope or None,
    )
    said = context.get_parameter_source("subject")
    if not targets and said is not None and said.name == "COMMANDLINE":
        targets = {"subject": True}
    if len(targets) != 1:
        raise typer.BadParameter("say just one of --observation, --fact, --subject, --scope")
    event = _given(
        kind="deletion",
        scope=scope(tenant, namespace, subject, branch),
        target=targets,
        reason=reason,
    )
    _one(session(context), event)


def import_(
    context: typer.Context,
    kind: str = typer.Argument(metavar="jsonl|chatgpt|mbox|git", help="What the source is."),
    path: Path = typer.Argument(help="The file or repository."),
    name: str | None = typer.Option(None, "--name", help="git: what to call the repository."),
    tenant: str | None = Tenant,
    namespace: str | None = Namespace,
    subject: str | None = Subject,
    branch: str = Branch,
    kafka: str | None = Kafka,
) -> None:
    """Import what you have; importing it twice changes nothing."""
    asked = session(context)
    where = scope(tenant, namespace, subject, branch)
    with publisher(asked, kafka) as door:
        done = run_import(Importing(kind, path, where, name), door.publish)
    asked.answer(done.as_json(), lambda: _tell_import(done.as_json()))
    nothing_came = not done.states and done.report.skipped
    raise typer.Exit(NEGATIVE if nothing_came or done.states.get("rejected") else 0)


def _tell_import(report: Json) -> None:
    states: Counter[str] = Counter(report["receipts"])
    say(f"read {report['read']} items: {sum(states.values())} events published")
    for state, count in sorted(states.items()):
        say(f"  {count:6} {state}")
    if report["skipped"]:
        say(f"skipped {len(report['skipped'])}:")
        for item in report["skipped"][:20]:
            say(f"  {item['where']}: {item['reason']}")


def _given(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}
