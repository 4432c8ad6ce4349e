"""The Faust application: an agent on the triggers topic and a timer, both running one sweep.

A trigger names a partition in which something now awaits its time; the timer sweeps all of them.
Faust creates no topics; those it needs must exist.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any

import faust
import structlog

log = structlog.get_logger()
SWEEP_S = 1.0


def build(
    bootstrap: str,
    triggers: str,
    sweep: Callable[[], int],
    *,
    data_dir: str,
    broker_credentials: Any = None,
) -> faust.App:
    """The application of one installation, whose topics it is named after.

    `sweep` publishes the controls that are due and returns how many.
    """
    app = faust.App(
        f"{triggers.removesuffix('.triggers')}-agents",
        broker=[f"kafka://{address}" for address in bootstrap.split(",")],
        broker_credentials=broker_credentials,
        store="memory://",
        datadir=data_dir,
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
        consumer_auto_offset_reset="latest",
        reply_create_topic=False,
    )
    topic = app.topic(triggers, value_type=bytes, value_serializer="raw", internal=False)

    @app.agent(topic, name="due")
    async def due(stream: Any) -> None:
        async for _ in stream.take(100, within=0.2):
            await app.loop.run_in_executor(None, _sweep, sweep)

    async def timer() -> None:
        await app.loop.run_in_executor(None, _sweep, sweep)

    app.timer(interval=SWEEP_S, on_leader=False, name="sweep")(timer)
    return app


def credentials(extra: Mapping[str, str]) -> Any:
    """librdkafka's SASL and TLS settings in Faust's words; None for plain text."""
    protocol = extra.get("security.protocol", "PLAINTEXT").upper()
    if protocol == "PLAINTEXT":
        return None
    context = None
    if protocol.endswith("SSL"):
        context = ssl.create_default_context(cafile=extra.get("ssl.ca.location"))
    if protocol == "SSL":
        return faust.SSLCredentials(context=context)
    return faust.SASLCredentials(
        username=extra.get("sasl.username"),
        password=extra.get("sasl.password"),
        mechanism=extra.get("sasl.mechanism", extra.get("sasl.mechanisms", "PLAIN")),
        ssl_context=context,
    )


def _sweep(sweep: Callable[[], int]) -> None:
    published = sweep()
    if published:
        log.info("controls published", count=published)


def run(app: faust.App) -> None:
    """Run until SIGINT or SIGTERM."""
    faust.Worker(app, loglevel="WARNING", redirect_stdouts=False).execute_from_commandline()
