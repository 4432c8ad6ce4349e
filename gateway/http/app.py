"""The FastAPI application, put together: authenticate, parse, ask the port, answer.

Nothing is decided here. Middleware, outermost first: watch everything, bound bodies, bound what is
worked on at once; then routing, the caller, the query, the body.
"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI

from gateway.http import problems
from gateway.http.auth import RegistrySource
from gateway.http.limits import BODY_S, IN_FLIGHT, BodyLimit, InFlight
from gateway.http.metrics import Metrics, Observed
from gateway.http.openapi import describe
from gateway.http.routes_events import events
from gateway.http.routes_ops import administration, health
from gateway.http.routes_reads import audit, lists, reads
from gateway.http.routes_release import releasing
from gateway.ports import Application
from schemas.limits import REQUEST_BYTES


def create_app(
    application: Application,
    registry: RegistrySource,
    clock: Callable[[], int],
    in_flight: int = IN_FLIGHT,
    body_seconds: float = BODY_S,
) -> FastAPI:
    """The HTTP door of one process; `clock` in µs.

    `in_flight`: calls answered at once; `body_seconds`: until a request's body must be there.
    """
    app = FastAPI(
        title="mnemolog",
        version="1",
        description="Governed memory for agents: recall is not permission, release is.",
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.registry = registry
    metrics = Metrics()
    problems.install(app)
    app.add_middleware(InFlight, limit=in_flight)
    app.add_middleware(BodyLimit, limit=REQUEST_BYTES, seconds=body_seconds)
    app.add_middleware(Observed, metrics=metrics)
    for router in (
        events(application, clock, metrics),
        reads(application),
        releasing(application),
        lists(application),
        audit(application),
        administration(application),
        health(application, metrics),
    ):
        app.include_router(router)
    describe(app)
    return app
