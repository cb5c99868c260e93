"""What Prometheus reads: requests as they are answered, and the queue as it stands."""

from collections.abc import Iterator
from functools import lru_cache

from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from tunix_rt import __version__
from tunix_rt.base.errors import StorageError
from tunix_rt.base.home import Home
from tunix_rt.runs.store.workers import WAIT_BUCKETS_S, QueueFigures
from tunix_rt.system.health import FiguresReader

_LATENCY_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Measurements:
    """The measurements of one app, in a registry of its own."""

    def __init__(self, home: Home) -> None:
        self.registry = CollectorRegistry()
        self.latency_s = Histogram(
            "tunix_rt_request_duration_seconds",
            "From the head of a request to the end of its answer.",
            ("method", "route", "status"),
            registry=self.registry,
            buckets=_LATENCY_BUCKETS_S,
        )
        self.in_flight = Gauge(
            "tunix_rt_requests_in_flight", "Requests that are being answered.", registry=self.registry
        )
        about = Gauge("tunix_rt_info", "The version that is running.", ("version",), registry=self.registry)
        about.labels(__version__).set(1)
        ProcessCollector(registry=self.registry)
        self.registry.register(_Service(FiguresReader(home)))
        # Found once: there are as many as routes, and looking one up takes longer than to count.
        self._latency_of = lru_cache(maxsize=None)(self.latency_s.labels)

    def observe(self, method: str, route: str, status: int, duration_s: float) -> None:
        """Count an answer."""
        self._latency_of(method, route, status).observe(duration_s)


class _Service(Collector):
    """The figures of the store, read when somebody asks."""

    def __init__(self, figures: FiguresReader) -> None:
        self._figures = figures

    def describe(self) -> list[Metric]:
        """Nothing: the registry would otherwise collect once, and so connect, when the app is made."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Every figure, or only that the database does not answer."""
        try:
            figures = self._figures.read()
        except StorageError:
            yield GaugeMetricFamily("tunix_rt_database_up", "Whether the database answers.", value=0)
            return
        yield GaugeMetricFamily("tunix_rt_database_up", "Whether the database answers.", value=1)
        yield from _queue(figures.queue)
        yield _by(
            "tunix_rt_running_tokens_per_second",
            "Tokens per second of each run that goes on.",
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
        "How long the first of them has been waiting.",
        value=queue.oldest_wait_s,
    )
    yield CounterMetricFamily(
        "tunix_rt_lease_losses", "Leases whose worker was lost.", value=queue.num_lease_losses
    )
    bounds = [str(float(bound)) for bound in WAIT_BUCKETS_S]
    buckets = [*zip(bounds, queue.num_within, strict=True), ("+Inf", queue.num_begun)]
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
