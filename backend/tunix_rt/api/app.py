"""Routers, middleware, lifespan."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from anyio import to_thread
from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from tunix_rt import __version__
from tunix_rt.api.access import Access, OwnHostOnly, TokenCheck, access_to
from tunix_rt.api.access import router as session_router
from tunix_rt.api.limits import BodyLimit
from tunix_rt.api.metrics import Measurements, RequestLog
from tunix_rt.api.metrics import router as metrics_router
from tunix_rt.api.web import BUILT, WebApp
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.http.errors import install_error_handlers
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.routes import router as datasets_router
from tunix_rt.datasets.routes import xray_router
from tunix_rt.evaluation.routes import (
    evaluations_router,
    faithfulness_router,
    regression_router,
    run_evaluations_router,
)
from tunix_rt.evaluation.routes import (
    router as evalsets_router,
)
from tunix_rt.evidence.routes import router as evidence_router
from tunix_rt.models.routes import models_router
from tunix_rt.models.routes import router as model_versions_router
from tunix_rt.runs.routes.live import LiveRuns
from tunix_rt.runs.routes.live import router as run_streams_router
from tunix_rt.runs.routes.preview import router as plans_router
from tunix_rt.runs.routes.preview import tunix_router
from tunix_rt.runs.routes.runs import router as run_artifacts_router
from tunix_rt.runs.routes.runs import runs_router
from tunix_rt.runs.tasks.routes import router as tasks_router
from tunix_rt.serving.pool import ModelPool, process_launcher
from tunix_rt.serving.routes import OpenAIErrors, preferences_router
from tunix_rt.serving.routes import router as openai_router
from tunix_rt.sweeps.routes import router as tuning_router
from tunix_rt.system.demo import DemoProject
from tunix_rt.system.doctor import CachedDiagnosis, diagnose
from tunix_rt.system.routes import doctor_router, health_router
from tunix_rt.system.routes import router as demo_router
from tunix_rt.system.store import TokenRepository
from tunix_rt.traces.routes import router as traces_router

# Matched in this order: the most requested routes come first.
ROUTERS = (
    health_router,
    runs_router,
    run_streams_router,
    run_artifacts_router,
    metrics_router,
    traces_router,
    datasets_router,
    xray_router,
    evalsets_router,
    evaluations_router,
    faithfulness_router,
    run_evaluations_router,
    regression_router,
    tunix_router,
    plans_router,
    openai_router,
    tuning_router,
    model_versions_router,
    models_router,
    tasks_router,
    evidence_router,
    preferences_router,
    session_router,
    demo_router,
    doctor_router,
)


def app_to_serve(settings: Settings, host: str) -> FastAPI:
    """The app for a server that listens on `host`, with access checks."""
    return create_app(open_home(settings), access_to(settings, host))


def create_app(home: Home, access: Access | None = None) -> FastAPI:
    """The app over `home`, which is closed when the server stops.

    Args:
        home: The home to serve.
        access: Access checks. None: none, for use within one process.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await app.state.live.close()
        await app.state.models.close()
        await to_thread.run_sync(app.state.demo.close)
        home.close()

    # /docs loads nothing from other servers.
    app = FastAPIOffline(
        redoc_url=None,
        title="Tunix RT",
        version=__version__,
        summary="Reasoning traces to a small language model that shows its work, with proof.",
        lifespan=lifespan,
    )
    app.state.home = home
    # Set when the server stops, so that streams end.
    app.state.stopping = threading.Event()
    app.state.live = LiveRuns(home, app.state.stopping)
    app.state.models = ModelPool(home.settings, process_launcher(home.settings))
    app.state.measurements = Measurements(home)
    app.state.demo = DemoProject(home.settings)
    app.state.doctor = CachedDiagnosis(partial(diagnose, home.settings))
    _add_checks(app, home, access)
    install_error_handlers(app)
    for router in ROUTERS:
        app.include_router(router)
    app.router.default = WebApp(app.router.default, home.settings.web_dir or BUILT)
    return app


def _add_checks(app: FastAPI, home: Home, access: Access | None) -> None:
    # The middleware added last sees a request first.
    app.add_middleware(BodyLimit, limit_of=body_limit_of(home.settings))
    if access is not None:
        app.add_middleware(TokenCheck, tokens=TokenRepository(home.database), access=access)
        app.add_middleware(OwnHostOnly, hosts=access.hosts)
    app.add_middleware(OpenAIErrors)
    app.add_middleware(RequestLog, measurements=app.state.measurements)


def body_limit_of(settings: Settings) -> Callable[[str], int]:
    """The maximum body size of each path."""
    own_limits = {
        "/api/traces/batch": settings.batch_max_bytes,
        "/api/datasets/ingest": settings.upload_max_bytes,
    }
    return lambda path: own_limits.get(path.rstrip("/"), settings.trace_max_bytes)
