"""The application: routes, limits and errors around one open store."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from anyio import to_thread
from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from tunix_rt import __version__
from tunix_rt.api.access import Access, TokenCheck, access_to
from tunix_rt.api.errors import install_error_handlers
from tunix_rt.api.hosts import OwnHostOnly
from tunix_rt.api.limits import BodyLimit
from tunix_rt.api.live_runs import LiveRuns
from tunix_rt.api.metrics import Measurements
from tunix_rt.api.openai_errors import OpenAIErrors
from tunix_rt.api.request_log import RequestLog
from tunix_rt.api.routes import (
    datasets,
    demo,
    doctor,
    evalsets,
    evaluations,
    evidence,
    faithfulness,
    health,
    metrics,
    model_versions,
    models,
    openai,
    plans,
    preferences,
    regression,
    revisions,
    run_artifacts,
    run_evaluations,
    run_streams,
    runs,
    session,
    tasks,
    traces,
    tuning,
    tunix,
    xray,
)
from tunix_rt.api.short_way import ShortWay
from tunix_rt.api.web import BUILT, WebApp
from tunix_rt.config.settings import Settings
from tunix_rt.services.demo_project import DemoProject
from tunix_rt.services.doctor import examine
from tunix_rt.services.kept_diagnosis import KeptDiagnosis
from tunix_rt.services.serving.pool import ModelPool
from tunix_rt.services.serving.starting import process_starter
from tunix_rt.services.store import Store, open_store

# Looked through in this order: what is asked for most stands first.
ROUTES = (
    health,
    runs,
    run_streams,
    run_artifacts,
    metrics,
    traces,
    revisions,
    datasets,
    xray,
    evalsets,
    evaluations,
    faithfulness,
    run_evaluations,
    regression,
    tunix,
    plans,
    openai,
    tuning,
    model_versions,
    models,
    tasks,
    evidence,
    preferences,
    session,
    demo,
    doctor,
)


def app_to_serve(settings: Settings, host: str) -> FastAPI:
    """The HTTP surface for a server that listens on `host`: it checks whom it answers."""
    return create_app(open_store(settings), access_to(settings, host))


def create_app(store: Store, access: Access | None = None) -> FastAPI:
    """The HTTP surface over `store`, which is closed when the server stops.

    Args:
        store: What is served.
        access: Whom it answers. None: everybody, for use within one process.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await app.state.live.close()
        await app.state.models.close()
        await to_thread.run_sync(app.state.demo.close)
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
    # Set when the server is told to stop: whatever streams ends.
    app.state.stopping = threading.Event()
    app.state.live = LiveRuns(store, app.state.stopping)
    app.state.models = ModelPool(store.settings, process_starter(store.settings))
    app.state.measurements = Measurements(store)
    app.state.demo = DemoProject(store.settings)
    app.state.doctor = KeptDiagnosis(partial(examine, store.settings))
    _add_checks(app, store, access)
    install_error_handlers(app)
    for routes in ROUTES:
        app.include_router(routes.router)
    app.router.default = WebApp(app.router.default, store.settings.web_dir or BUILT)
    return app


def _add_checks(app: FastAPI, store: Store, access: Access | None) -> None:
    # The one that is added last sees a request first.
    app.add_middleware(ShortWay, routes=[route for routes in ROUTES for route in routes.router.routes])
    app.add_middleware(BodyLimit, limit_of=body_limit_of(store.settings))
    if access is not None:
        app.add_middleware(TokenCheck, tokens=store.tokens, access=access)
        app.add_middleware(OwnHostOnly, hosts=access.hosts)
    app.add_middleware(OpenAIErrors)
    app.add_middleware(RequestLog, measurements=app.state.measurements)


def body_limit_of(settings: Settings) -> Callable[[str], int]:
    """How many bytes a path takes."""
    own_limits = {
        "/api/traces/batch": settings.batch_max_bytes,
        "/api/datasets/ingest": settings.upload_max_bytes,
    }
    return lambda path: own_limits.get(path.rstrip("/"), settings.trace_max_bytes)
