"""What a request carries besides its key, before anything is made of it.

A query string is held to what a JSON body is: bytes that are not UTF-8, a parameter said twice and
one that the call does not have are refused by name (INTERFACE, top). A framework would replace,
drop and ignore them, and a scope would then be read that nobody named.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qsl, unquote_to_bytes

from fastapi import Depends, Path, Request

from gateway.http.auth import Caller
from schemas.errors import InvalidEvent, invalid
from schemas.text import check_id


def only(*names: str) -> Any:
    """The dependency of a call that takes these query parameters, each at most once.

    It depends on the caller, so that who has no key learns nothing of what a call takes.
    """

    async def check(_: Caller, request: Request) -> None:
        seen: set[str] = set()
        for name, value in _pairs(request.scope["query_string"]):
            if name not in names:
                known = ", ".join(names) or "none"
                raise invalid(
                    "unknown_field", name, "no such parameter", f"leave it out; known: {known}"
                )
            if name in seen:
                raise invalid("repeated_field", name, "the query says it twice", "say it once")
            if not _is_text(value):
                raise _not_utf8(name)
            seen.add(name)

    return Depends(check)


def _pairs(query: bytes) -> list[tuple[str, str]]:
    """The parameters in order; bytes that are not UTF-8 stand as lone surrogates."""
    if not query.isascii():
        remedy = "percent-encode what is not ASCII (RFC 3986)"
        raise invalid("not_ascii", "", "the query has raw bytes beyond ASCII", remedy)
    return parse_qsl(query.decode(), keep_blank_values=True, errors="surrogateescape")


def _is_text(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _not_utf8(field: str) -> InvalidEvent:
    return invalid("not_utf8", field, "its bytes are not UTF-8", "percent-encode UTF-8")


async def event_id(request: Request, event_id: Annotated[str, Path(examples=["e1"])]) -> str:
    """The event id of the path, which may hold any character, also `/`."""
    try:
        unquote_to_bytes(request.scope["raw_path"]).decode()
    except UnicodeDecodeError:
        raise _not_utf8("event_id") from None
    check_id(event_id, "event_id")
    return event_id


async def body(request: Request) -> bytes:
    """The body as it came; how much of it is bounded before (`limits.BodyLimit`).

    Nothing is unpacked here: what is small on the wire could be large in memory.
    """
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise invalid(
            "encoded_body",
            "content-encoding",
            "the body is compressed or otherwise encoded",
            "send it as it is, without content-encoding",
        )
    return await request.body()


EventId = Annotated[str, Depends(event_id)]
Body = Annotated[bytes, Depends(body)]
