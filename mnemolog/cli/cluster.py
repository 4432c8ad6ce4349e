"""Verbs of the cluster's processes: topics, worker, agents, gateway."""

from __future__ import annotations

import sys

import typer

from mnemolog.cli.session import NEGATIVE, Kafka, say, session
from mnemolog.long_running import tune
from schemas.errors import Unavailable
from schemas.topics import DEFAULT_PARTITIONS

topics = typer.Typer(no_args_is_help=True, help="The cluster's topics.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.add_typer(topics, name="topics")
    app.command("worker")(worker)
    app.command("agents")(agents)
    app.command("gateway")(gateway)


def _needed(kafka: str | None) -> str:
    if not kafka:
        raise Unavailable("broker", "no address was given", "pass --kafka HOST:PORT")
    return kafka


@topics.command("create")
def topics_create(
    context: typer.Context,
    partitions: int = typer.Option(DEFAULT_PARTITIONS, help="Fixed for good."),
    kafka: str | None = Kafka,
) -> None:
    """Create what is missing, then check everything."""
    from mnemolog.cluster import create_topics

    made = create_topics(_needed(kafka), partitions)
    asked = session(context)
    asked.answer({"created": made}, lambda: say(f"created {len(made)} topics"))


@topics.command("check")
def topics_check(context: typer.Context, kafka: str | None = Kafka) -> None:
    """Compare the topics' settings with what they must be."""
    from mnemolog.cluster import check_topics

    wrong = check_topics(_needed(kafka))
    asked = session(context)
    asked.answer(
        {"ok": not wrong, "differences": wrong},
        lambda: say("\n".join(wrong) if wrong else "ok"),
    )
    raise typer.Exit(NEGATIVE if wrong else 0)


def worker(
    context: typer.Context,
    kafka: str | None = Kafka,
    keep_intake: bool = typer.Option(False, help="Do not drop what was admitted."),
    intake_anew: bool = typer.Option(
        False, help="Intake topics were made anew: go on behind them."
    ),
    metrics_port: int | None = typer.Option(None, help="Where to tell Prometheus metrics."),
) -> None:
    """Admit events of the partitions that the group gives this process."""
    from mnemolog.cluster import run_worker

    asked = session(context)
    tune()
    run_worker(
        _needed(kafka),
        asked.data,
        asked.master(),
        keep_intake=keep_intake,
        intake_anew=intake_anew,
        metrics_port=metrics_port,
    )


def agents(context: typer.Context, kafka: str | None = Kafka) -> None:
    """The slow agents: time-outs and expiries by clock."""
    from mnemolog.cluster import run_agents

    asked = session(context)
    tune()
    run_agents(_needed(kafka), asked.data, asked.master())


def gateway(
    context: typer.Context,
    kafka: str | None = Kafka,
    host: str = typer.Option("127.0.0.1", help="Where to listen."),
    port: int = typer.Option(8080, help="0 picks a free one."),
) -> None:
    """HTTP over a follower of the ledger."""
    from mnemolog.cluster import run_gateway

    asked = session(context)

    def ready(url: str) -> None:
        asked.answer({"url": url}, lambda: say(f"serving at {url}"))
        sys.stdout.flush()

    tune()
    run_gateway(_needed(kafka), asked.data, asked.master(), host, port, ready)
