"""Who calls (INTERFACE "HTTP"): `Authorization: Bearer KEY`, looked up in the registry.

A door authenticates and nothing more: what the caller may do is decided behind the port. It goes
before everything else that a request could be refused for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from gateway.errors import Unauthenticated
from schemas.principals import Principal, Registry

RegistrySource = Callable[[], Registry]

_bearer = HTTPBearer(auto_error=False, description="an API key (`mnemolog keys add`)")


async def caller(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Principal:
    """The principal whose API key the request carries; `Unauthenticated` otherwise."""
    registry: RegistrySource = request.app.state.registry
    if credentials is not None:
        principal = registry().by_api_key(credentials.credentials)
        if principal is not None:
            request.state.caller = principal.name
            return principal
    raise Unauthenticated(
        "unknown_key",
        "the request carries no API key that is known here",
        "send Authorization: Bearer KEY; make one with: mnemolog keys add NAME",
    )


Caller = Annotated[Principal, Depends(caller)]
