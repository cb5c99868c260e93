"""Request log and Prometheus metrics.

The request id comes from the header `X-Request-ID` if that is safe, and is returned with the response, so
that the client's view can be matched with the log.
"""

import logging
import random
import re
import time
from collections.abc import Iterator
from functools import lru_cache

from fastapi import APIRouter, Request, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tunix_rt import __version__
from tunix_rt.base.errors import StorageError
from tunix_rt.base.home import Home
from tunix_rt.base.http.errors import REQUEST_ID, error_responses
from tunix_rt.base.http.transfers import text_answer
from tunix_rt.base.logs import request_id
from tunix_rt.runs.store.workers import WAIT_BUCKETS_S, QueueFigures
from tunix_rt.system.health import FiguresReader

_LATENCY_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Measurements:
    """The metrics of one app, in their own registry."""

    def __init__(self, home: Home) -> None:
        self.registry = CollectorRegistry()
        self.latency_s = Histogram(
            "tunix_rt_request_duration_seconds",
            "Time from the head of a request to the end of its response.",
            ("method", "route", "status"),
            registry=self.registry,
            buckets=_LATENCY_BUCKETS_S,
        )
        self.in_flight = Gauge("tunix_rt_requests_in_flight", "Requests in progress.", registry=self.registry)
        about = Gauge("tunix_rt_info", "The running version.", ("version",), registry=self.registry)
        about.labels(__version__).set(1)
        ProcessCollector(registry=self.registry)
        self.registry.register(_Service(FiguresReader(home)))
        # Cached: looking up a child takes longer than counting, and there are only as many as routes.
        self._latency_of = lru_cache(maxsize=None)(self.latency_s.labels)

    def observe(self, method: str, route: str, status: int, duration_s: float) -> None:
        """Count a response."""
        self._latency_of(method, route, status).observe(duration_s)


class _Service(Collector):
    """The figures of the service, read on each scrape."""

    def __init__(self, figures: FiguresReader) -> None:
        self._figures = figures

    def describe(self) -> list[Metric]:
        """Nothing, because the registry would otherwise collect, and so connect, when the app is created."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All figures, or only that the database does not answer."""
        try:
            figures = self._figures.read()
        except StorageError:
            yield GaugeMetricFamily("tunix_rt_database_up", "Whether the database answers.", value=0)
            return
        yield GaugeMetricFamily("tunix_rt_database_up", "Whether the database answers.", value=1)
        yield from _queue(figures.queue)
        yield _by(
            "tunix_rt_running_tokens_per_second",
            "Tokens per second of each running run.",
            "run_id",
            figures.tokens_per_s,
        )


def _queue(queue: QueueFigures) -> Iterator[Metric]:
    yield _by("tunix_rt_runs", "Runs by status.", "status", queue.num_runs)
    yield _by("tunix_rt_tasks", "Evaluations and exports by status.", "status", queue.num_tasks)
    yield _by("tunix_rt_workers", "Workers by status.", "status", queue.num_workers)
    yield GaugeMetricFamily(
        "tunix_rt_queue_length", "Runs that a worker could take now.", value=queue.num_waiting
    )
    yield GaugeMetricFamily(
        "tunix_rt_queue_oldest_wait_seconds",
        "How long the oldest of them has been waiting.",
        value=queue.oldest_wait_s,
    )
    yield CounterMetricFamily(
        "tunix_rt_lease_losses", "Leases whose worker was lost.", value=queue.num_lease_losses
    )
    bounds = [str(float(bound)) for bound in WAIT_BUCKETS_S]
    buckets = [*zip(bounds, queue.num_within, strict=True), ("+Inf", queue.num_started)]
    yield HistogramMetricFamily(
        "tunix_rt_queue_wait_seconds",
        "From the submission of a run to its first start.",
        buckets=buckets,
        sum_value=queue.sum_wait_s,
    )


def _by(name: str, what: str, label: str, values: dict[str, int] | dict[str, float]) -> Metric:
    family = GaugeMetricFamily(name, what, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


logger = logging.getLogger("tunix_rt.requests")

_HEADER = b"x-request-id"
_SAFE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_QUIET = frozenset({"/api/health", "/metrics"})
"""Polled every few seconds by monitoring; logged only on errors."""


class RequestLog:
    """Assigns request ids, measures requests and logs them."""

    def __init__(self, app: ASGIApp, measurements: Measurements) -> None:
        self._app = app
        self._measurements = measurements

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the request, then log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("x-request-id", "")
        own_id = asked if _SAFE.fullmatch(asked) else f"{random.getrandbits(64):016x}"
        scope.setdefault("state", {})[REQUEST_ID] = own_id
        # Never reset: the request has its own context, and the server logs a bug after this returns.
        request_id.set(own_id)
        status, start_s = 500, time.perf_counter()

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                others = (header for header in message.get("headers", ()) if header[0] != _HEADER)
                message["headers"] = [*others, (_HEADER, own_id.encode())]
            await send(message)

        try:
            self._measurements.in_flight.inc()
            await self._app(scope, receive, send_marked)
        finally:
            self._measurements.in_flight.dec()
            self._write(scope, status, time.perf_counter() - start_s)

    def _write(self, scope: Scope, status: int, duration_s: float) -> None:
        method, path = scope["method"], scope["path"]
        route = getattr(scope.get("route"), "path", "other")
        self._measurements.observe(method, route, status, duration_s)
        if path in _QUIET and status < 400:
            return
        fields = {
            "method": method,
            "path": path,
            "route": route,
            "status": status,
            "duration_ms": round(duration_s * 1000, 2),
            "client": scope["client"][0] if scope.get("client") else None,
        }
        message = f"{method} {path} {status} in {duration_s * 1000:.1f} ms"
        logger.log(logging.ERROR if status >= 500 else logging.INFO, message, extra={"fields": fields})


router = APIRouter(tags=["health"], responses=error_responses())


@router.get("/metrics", response_class=Response, responses=text_answer("text/plain"))
def metrics(request: Request) -> Response:
    """Runs, queue, workers, requests and this process, in Prometheus' text format."""
    measurements: Measurements = request.app.state.measurements
    return Response(generate_latest(measurements.registry), media_type=CONTENT_TYPE_LATEST)
