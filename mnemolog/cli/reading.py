"""Verbs that ask: recall, release, facts, history, conflicts, episodes, audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from mnemolog.cli.session import (
    NEGATIVE,
    Branch,
    Namespace,
    RecordedAt,
    Session,
    Subject,
    Tenant,
    ValidAt,
    say,
    scope,
    session,
)
from schemas import answers
from schemas.values import json_value, parse_cli_value

Json = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("recall")(recall)
    app.command(
        "release", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
    )(release)
    app.command("facts")(facts)
    app.command("history")(history)
    app.command("conflicts")(conflicts)
    app.command("episodes")(episodes)
    app.command("audit")(audit)


def recall(
    context: typer.Context,
    query: str,
    limit: int = typer.Option(10, help="Results at most."),
    token_budget: int | None = typer.Option(None, help="Tokens at most."),
    types: str | None = typer.Option(None, help="fact, episode, conflict; comma-separated."),
    valid_at: str | None = ValidAt,
    recorded_at: str | None = RecordedAt,
    snapshot: str | None = typer.Option(None, help="Ask again at this state."),
    tenant: str | None = Tenant,
    namespace: str | None = Namespace,
    subject: str | None = Subject,
    branch: str = Branch,
) -> None:
    """What bears on this?"""
    asked = session(context)
    body = _given(
        scope=scope(tenant, namespace, subject, branch),
        query=query,
        limit=limit,
        token_budget=token_budget,
        types=types.split(",") if types else None,
        valid_at=valid_at,
        recorded_at=recorded_at,
        snapshot=snapshot,
    )
    with asked.door() as door:
        answer = door.recall(body)
    asked.answer(answer, lambda: _tell_recall(answer))


def _tell_recall(answer: answers.Recall) -> None:
    if answer.snapshot.historical:
        say(f"historical: as recorded by {answer.snapshot.recorded_at}")
    for result in answer.results:
        mark = (
            "releasable"
            if result.releasable
            else "testimony"
            if (result.type == "episode")
            else "not releasable"
        )
        say(f"{result.score:.3f}  {result.type:8}  {result.text}   [{mark}, {result.id}]")
    if not answer.results:
        say("nothing that bears on it")
    for reason in answer.missing:
        say(f"note: {reason.detail}")


def release(
    context: typer.Context,
    query: str = typer.Option("", help="The question that is answered."),
    type_: str | None = typer.Option(None, "--type", help="The type of the claims' values."),
    valid_at: str | None = ValidAt,
    recorded_at: str | None = RecordedAt,
    tenant: str | None = Tenant,
    namespace: str | None = Namespace,
    subject: str | None = Subject,
    branch: str = Branch,
) -> None:
    """May I say this? Give --claim ENTITY ATTRIBUTE VALUE --fact ID …, as often as needed."""
    asked = session(context)
    body = _given(
        scope=scope(tenant, namespace, subject, branch),
        query=query,
        claims=_claims(context.args, type_),
        valid_at=valid_at,
        recorded_at=recorded_at,
    )
    with asked.door() as door:
        answer = door.release(body)
    asked.answer(answer, lambda: _tell_release(answer))
    raise typer.Exit(0 if answer.decision == "release" else NEGATIVE)


def _claims(words: list[str], type_: str | None) -> list[Json]:
    """`--claim E A V` and the `--fact ID` that follow it, in order."""
    claims: list[Json] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--claim" and len(queue) >= 3:
            entity, attribute, text = queue.pop(0), queue.pop(0), queue.pop(0)
            value = parse_cli_value(text, type_)
            claims.append(
                {
                    "entity": entity,
                    "attribute": attribute,
                    "value": json_value(value),
                    "type": value.type,
                    "facts": [],
                }
            )
        elif word == "--fact" and queue and claims:
            claims[-1]["facts"].append(queue.pop(0))
        else:
            raise typer.BadParameter(
                f"{word} is not understood: write --claim ENTITY ATTRIBUTE VALUE --fact ID …"
            )
    return claims


def _tell_release(answer: answers.Release) -> None:
    say(answer.decision)
    for claim in answer.claims:
        verdict = "ok" if claim.ok else f"no: {claim.reason}"
        say(f"  {claim.entity} {claim.attribute} {claim.value}: {verdict}")


def _page(asked: Session, name: str, params: Json, tell: Callable[[Any], None]) -> None:
    with asked.door() as door:
        page = door.page(name, params)

    def human() -> None:
        for item in page.items:
            tell(item)
        if not page.items:
            say("none")
        if page.next_cursor:
            say(f"more: --cursor {page.next_cursor}")

    asked.answer(page, human)


def _tell_fact(fact: answers.Fact) -> None:
    until = fact.valid_to or "…"
    say(
        f"{fact.status:10} {fact.entity} {fact.attribute} {fact.value}   "
        f"[{fact.valid_from[:10]} to {until[:10]}; {fact.fact_id}; by {fact.asserted_by.adapter}]"
    )
    for evidence in fact.evidence:
        say(f"           “{evidence.quote}” ({evidence.observation})")
    if fact.superseded_by:
        say(f"           superseded by {fact.superseded_by}")


def _listing(name: str, tell: Callable[[Any], None], summary: str) -> Callable[..., None]:
    def verb(
        context: typer.Context,
        entity: str | None = typer.Option(None, help="Only of this entity."),
        attribute: str | None = typer.Option(None, help="Only of this attribute."),
        limit: int = typer.Option(100, help="Items at most."),
        cursor: str | None = typer.Option(None, help="Go on from a page."),
        valid_at: str | None = ValidAt,
        recorded_at: str | None = RecordedAt,
        snapshot: str | None = typer.Option(None, help="Ask again at this state."),
        tenant: str | None = Tenant,
        namespace: str | None = Namespace,
        subject: str | None = Subject,
        branch: str = Branch,
    ) -> None:
        params = _given(
            **scope(tenant, namespace, subject, branch),
            entity=entity,
            attribute=attribute,
            limit=limit,
            cursor=cursor,
            valid_at=valid_at,
            recorded_at=recorded_at,
            snapshot=snapshot,
        )
        _page(session(context), name, params, tell)

    verb.__doc__ = summary
    return verb


def _tell_conflict(conflict: answers.Conflict) -> None:
    say(f"{conflict.entity} {conflict.attribute} ({conflict.conflict_id})")
    for side in conflict.sides:
        quotes = ", ".join(f"“{evidence.quote}”" for evidence in side.evidence)
        say(f"    {side.value}   [{side.fact_id}; by {side.asserted_by.adapter}] {quotes}")


def _tell_episode(episode: answers.Episode) -> None:
    text = (episode.content or "(kept by the host)").replace("\n", " ")
    say(f"{episode.occurred_at[:19]}  {episode.actor}: {text[:120]}   [{episode.event_id}]")


def _tell_audit(fact: answers.AuditFact) -> None:
    cause = f" ({fact.cause.code})" if fact.cause else ""
    say(f"{fact.status:12} {fact.fact_id} {fact.entity} {fact.attribute} {fact.value}{cause}")


facts = _listing("facts", _tell_fact, "Public facts, now or at --valid-at (or `any`).")
conflicts = _listing("conflicts", _tell_conflict, "What cannot all be so.")
episodes = _listing("episodes", _tell_episode, "Testimony.")
audit = _listing("audit/facts", _tell_audit, "Assertions of every status, with the cause.")


def history(
    context: typer.Context,
    entity: str,
    attribute: str,
    recorded_at: str | None = RecordedAt,
    tenant: str | None = Tenant,
    namespace: str | None = Namespace,
    subject: str | None = Subject,
    branch: str = Branch,
) -> None:
    """Every period of a key; superseded ones marked."""
    params = _given(
        **scope(tenant, namespace, subject, branch),
        entity=entity,
        attribute=attribute,
        recorded_at=recorded_at,
    )
    _page(session(context), "history", params, _tell_fact)


def _given(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}
