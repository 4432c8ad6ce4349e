"""Bounds on what one process takes on at a time, each told by the error that meets it.

No request body beyond the limit is ever buffered (413), and no more requests are worked on at once
than the process has memory for (429): both are decided before a request is looked at.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.http.problems import problem

IN_FLIGHT = 256
DRAINED = 8  # times the limit
CALLS = "/v1/"


class _TooLarge(Exception):
    """How many bytes came, as far as it is known."""


class BodyLimit:
    """ASGI middleware: no request body beyond `limit` bytes is kept.

    A body that was refused unread is let go by before the answer, within a bound: many clients read
    no answer before they have sent it all, and closing on them would lose it.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"0")
        more = declared != b"0" or b"transfer-encoding" in headers
        read = 0

        async def received() -> Message:
            nonlocal read, more
            message = await receive()
            read += len(message.get("body", b""))
            more = message.get("more_body", False)
            return message

        async def counted() -> Message:
            message = await received()
            if read > self._limit:
                raise _TooLarge(f"more than {self._limit} bytes")
            return message

        async def answered(message: Message) -> None:
            asked_first = read == 0 and b"expect" in headers
            while more and read < DRAINED * self._limit and not asked_first:
                await received()
            await send(message)

        try:
            if declared.isdigit() and int(declared) > self._limit:
                raise _TooLarge(f"{int(declared)} bytes")
            await self._app(scope, counted, answered)
        except _TooLarge as found:
            response = problem(
                413,
                "request_too_large",
                f"the request body has {found}",
                "send it in parts",
                limit=f"{self._limit} bytes",
            )
            await response(scope, receive, answered)


class InFlight:
    """ASGI middleware: at most `limit` calls at once; health and metrics are always answered."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http" or not scope["path"].startswith(CALLS):
            await self._app(scope, receive, send)
            return
        if self._running >= self._limit:
            response = problem(
                429,
                "too_many_requests",
                f"{self._running} requests are being answered",
                "ask again in a moment",
                limit=f"{self._limit} at once",
                headers={"Retry-After": "1"},
            )
            await response(scope, receive, send)
            return
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1
