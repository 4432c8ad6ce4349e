"""What operators see: counts and times for /metrics, and a log line for every answer of 5xx.

Neither ever holds contents: routes are templates, never paths; a failure is told by its type and
place, never by its message, since messages quote what they were given.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter as Counted
from collections.abc import Iterable
from pathlib import PurePath

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.http.problems import internal
from schemas.answers import Receipt

CLIENT_GONE = 499
FRAMES = 12
PRIVATE = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]

log = structlog.get_logger()


class Metrics:
    """The metrics of one app."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "mnemolog_http_requests", "HTTP requests", ("route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "mnemolog_http_seconds", "Time to answer", ("route",), registry=self._registry
        )
        self._receipts = Counter(
            "mnemolog_receipts", "Receipts given", ("kind", "state"), registry=self._registry
        )

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def published(self, receipts: Iterable[Receipt]) -> None:
        """Count receipts."""
        counted = Counted((receipt.kind or "unknown", receipt.state) for receipt in receipts)
        for (kind, state), count in counted.items():
            self._receipts.labels(kind, state).inc(count)

    def exposition(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self._registry)


class Observed:
    """ASGI middleware around everything: counts, tells, marks answers as private.

    What nobody foresaw ends here, as a problem: let out, the server would log its message.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, watching."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status: int | None = None

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), *PRIVATE]}
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            status = CLIENT_GONE
        except Exception as error:  # noqa: BLE001 - told by type and place, answered as a problem
            log.error("unexpected", error=type(error).__name__, at=_places(error))
            if status is None:
                await internal()(scope, receive, sending)
        seconds = time.perf_counter() - began
        route = getattr(scope.get("route"), "path", "unknown")
        self._metrics.answered(route, status or CLIENT_GONE, seconds)
        if status is not None and status >= 500:
            log.warning(
                "answered",
                method=scope["method"],
                route=route,
                status=status,
                caller=scope.get("state", {}).get("caller"),
                milliseconds=round(seconds * 1000, 3),
            )


def _places(error: Exception) -> list[str]:
    """Where it came from, innermost last."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return [f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
