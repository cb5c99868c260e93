"""Routers, middleware, lifespan."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from anyio import to_thread
from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from tunix_rt import __version__
from tunix_rt.api import access as session
from tunix_rt.api import metrics
from tunix_rt.api.access import Access, OwnHostOnly, TokenCheck, access_to
from tunix_rt.api.limits import BodyLimit
from tunix_rt.api.metrics import Measurements, RequestLog
from tunix_rt.api.web import BUILT, WebApp, docs_page
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.http.errors import install_error_handlers
from tunix_rt.base.settings import Settings
from tunix_rt.datasets import routes as datasets
from tunix_rt.evaluation import routes as evaluation
from tunix_rt.evidence import routes as evidence
from tunix_rt.models import routes as models
from tunix_rt.runs.routes import live, preview, runs
from tunix_rt.runs.routes.live import LiveRuns
from tunix_rt.runs.tasks import routes as tasks
from tunix_rt.serving import routes as serving
from tunix_rt.serving.pool import ModelPool, process_launcher
from tunix_rt.serving.routes import OpenAIErrors
from tunix_rt.sweeps import routes as sweeps
from tunix_rt.system import routes as system
from tunix_rt.system.demo import DemoProject
from tunix_rt.system.doctor import CachedDiagnosis, diagnose
from tunix_rt.system.store import TokenRepository
from tunix_rt.traces import routes as traces

# Matched in this order: the most requested routes come first.
ROUTERS = (
    system.health_router,
    runs.runs_router,
    live.router,
    runs.router,
    metrics.router,
    traces.router,
    datasets.router,
    datasets.xray_router,
    evaluation.router,
    evaluation.evaluations_router,
    evaluation.faithfulness_router,
    evaluation.run_evaluations_router,
    evaluation.regression_router,
    preview.tunix_router,
    preview.router,
    serving.router,
    sweeps.router,
    models.router,
    models.models_router,
    tasks.router,
    evidence.router,
    serving.preferences_router,
    session.router,
    system.router,
    system.doctor_router,
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

    # Mounts the files of /docs, so that the page loads nothing from other servers.
    app = FastAPIOffline(
        docs_url=None,
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
    # The middleware added last sees a request first.
    app.add_middleware(BodyLimit, limit_of=body_limit_of(home.settings))
    if access is not None:
        app.add_middleware(TokenCheck, tokens=TokenRepository(home.database), access=access)
        app.add_middleware(OwnHostOnly, access=access)
    app.add_middleware(OpenAIErrors)
    app.add_middleware(RequestLog, measurements=app.state.measurements)
    install_error_handlers(app)
    app.add_api_route("/docs", partial(docs_page, "/openapi.json"), include_in_schema=False)
    for router in ROUTERS:
        app.include_router(router)
    app.router.default = WebApp(app.router.default, home.settings.web_dir or BUILT)
    return app


def body_limit_of(settings: Settings) -> Callable[[str], int]:
    """The maximum body size of each path."""
    own_limits = {
        "/api/traces/batch": settings.batch_max_bytes,
        "/api/datasets/ingest": settings.upload_max_bytes,
    }
    return lambda path: own_limits.get(path.rstrip("/"), settings.trace_max_bytes)
