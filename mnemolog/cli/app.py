"""The root command: global options, the verbs, and what becomes of errors."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import structlog
import typer

from mnemolog.cli import checking, cluster, operating, reading, writing
from mnemolog.cli.session import Session, fail
from schemas.errors import MnemologError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Governed memory for agents: recall is not permission, release is.",
    rich_markup_mode=None,
)
for module in (writing, reading, checking, operating, cluster):
    module.register(app)

_HOISTED = {"--json": 0, "--data": 1, "--url": 1, "--key": 1}


@app.callback()
def root(
    context: typer.Context,
    data: Annotated[
        Path, typer.Option("--data", envvar="MNEMOLOG_DATA", help="The data directory.")
    ] = Path("mnemolog-data"),
    json: Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")] = False,
    url: Annotated[
        str | None, typer.Option("--url", envvar="MNEMOLOG_URL", help="A server instead.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", envvar="MNEMOLOG_KEY", help="The server's API key.")
    ] = None,
) -> None:
    """Governed memory for agents: recall is not permission, release is."""
    context.obj = Session(data, json, url, key)


def hoist(arguments: list[str]) -> list[str]:
    """Global options may stand behind the verb, too; `forget --subject` needs no value."""
    front: list[str] = []
    rest: list[str] = []
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        name = word.split("=", 1)[0]
        if word == "--":
            rest += [word, *queue]
            break
        if name in _HOISTED:
            front.append(word)
            if _HOISTED[name] and "=" not in word and queue:
                front.append(queue.pop(0))
        elif word == "--subject" and "forget" in rest and (not queue or queue[0].startswith("--")):
            rest.append("--whole-subject")
        else:
            rest.append(word)
    return front + rest


def main(arguments: list[str] | None = None) -> None:
    """Run one call and leave with its exit status."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    words = hoist(sys.argv[1:] if arguments is None else arguments)
    try:
        status = app(words, standalone_mode=False, prog_name="mnemolog")
    except typer.Exit as done:
        status = done.exit_code
    except typer.Abort:
        status = 130
    except MnemologError as error:
        event = bool(set(words) & {"observe", "assert", "retract", "forget", "publish", "import"})
        status = fail(error, "--json" in words, event=event)
    except Exception as error:
        if not hasattr(error, "exit_code") or not hasattr(error, "show"):
            raise
        error.show()
        status = error.exit_code
    sys.exit(status if isinstance(status, int) else 0)
