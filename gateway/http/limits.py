"""Bounds on what one process takes on at a time, each told by the error that meets it.

No request body beyond the limit is ever buffered (413), none is waited for longer than a bound
(408), and no more requests are worked on at once than the process has memory for (429); of these,
those that publish take half at most, so that a slow log leaves room for who reads.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.http.problems import problem

IN_FLIGHT = 256
DRAINED = 8  # times the limit
BODY_S = 60.0
CALLS = "/v1/"
PUBLISHING = ("POST", "/v1/events")


class _TooLarge(Exception):
    """How many bytes came, as far as it is known."""


class _TooSlow(Exception):
    """The body was not there in time."""


class BodyLimit:
    """ASGI middleware: no body beyond `limit` bytes is kept, none waited for beyond `seconds`.

    A body that was refused unread is let go by before the answer, within a bound: many clients read
    no answer before they have sent it all, and closing on them would lose it.
    """

    def __init__(self, app: ASGIApp, limit: int, seconds: float) -> None:
        self._app = app
        self._limit = limit
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"0")
        more = declared != b"0" or b"transfer-encoding" in headers
        read = 0
        deadline = asyncio.get_running_loop().time() + self._seconds

        async def received() -> Message:
            nonlocal read, more
            if not more:  # the whole body is there: what may come is that the client goes
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                more = False
                raise _TooSlow from None
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
                with suppress(_TooSlow):
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
        except _TooSlow:
            response = problem(
                408,
                "request_timeout",
                f"{read} bytes of the body came in {self._seconds:g} s, and it went on",
                "send it at once, or in parts",
                limit=f"{self._seconds:g} s",
                headers={"Connection": "close"},
            )
            await response(scope, receive, send)


class InFlight:
    """ASGI middleware: at most `limit` calls at once, half of them publishing.

    Health and metrics are always answered.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limits = {False: limit, True: max(1, limit // 2)}
        self._running = {False: 0, True: 0}  # all calls, and those that publish

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http" or not scope["path"].startswith(CALLS):
            await self._app(scope, receive, send)
            return
        counted = [False, True] if (scope["method"], scope["path"]) == PUBLISHING else [False]
        for each in counted:
            if self._running[each] >= self._limits[each]:
                response = problem(
                    429,
                    "too_many_requests",
                    f"{self._running[each]} requests {'publish' if each else 'are answered'} now",
                    "ask again in a moment",
                    limit=f"{self._limits[each]} at once",
                    headers={"Retry-After": "1"},
                )
                await response(scope, receive, send)
                return
        for each in counted:
            self._running[each] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            for each in counted:
                self._running[each] -= 1
