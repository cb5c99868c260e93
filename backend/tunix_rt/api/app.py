"""The application: routes, limits and errors around one open store."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from fastapi_offline import FastAPIOffline

from tunix_rt import __version__
from tunix_rt.api.errors import install_error_handlers
from tunix_rt.api.limits import BodyLimit
from tunix_rt.api.routes import (
    datasets,
    evalsets,
    evaluations,
    health,
    regression,
    run_evaluations,
    traces,
    xray,
)
from tunix_rt.config.settings import Settings, load_settings
from tunix_rt.services.store import Store, open_store

ROUTES = (health, traces, datasets, xray, evalsets, evaluations, run_evaluations, regression)


def app_from_environment() -> FastAPI:
    """The HTTP surface over the store that the environment names."""
    return create_app(open_store(load_settings()))


def create_app(store: Store) -> FastAPI:
    """The HTTP surface over `store`, which is closed when the server stops."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        store.close()

    # The API's description at /docs loads nothing from elsewhere.
    app = FastAPIOffline(
        redoc_url=None,
        title="Tunix RT",
        version=__version__,
        summary="Reasoning traces to a small language model that shows its work, with proof.",
        lifespan=lifespan,
    )
    app.state.store = store
    app.add_middleware(BodyLimit, limit_of=body_limit_of(store.settings))
    install_error_handlers(app)
    for routes in ROUTES:
        app.include_router(routes.router)
    app.add_api_route("/", _to_the_description, include_in_schema=False)
    return app


def _to_the_description() -> RedirectResponse:
    return RedirectResponse("/docs")


def body_limit_of(settings: Settings) -> Callable[[str], int]:
    """How many bytes a path takes."""
    own_limits = {
        "/api/traces/batch": settings.batch_max_bytes,
        "/api/datasets/ingest": settings.upload_max_bytes,
    }
    return lambda path: own_limits.get(path.rstrip("/"), settings.trace_max_bytes)
