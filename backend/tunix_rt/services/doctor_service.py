"""What the doctor says of the service: the home, the queue, its workers, and the keys for hubs."""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.core.doctor import HubToken, ServiceReport, WorkerReport
from tunix_rt.engines.types import DoctorProblem
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import FlagRepository, WorkerRepository, queue_figures
from tunix_rt.runs.types import Worker

_MIN_FREE_BYTES = 2**30
_GONE = ("stopped", "lost")
_VARIABLES = {
    "Hugging Face": ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    "Kaggle": ("KAGGLE_API_TOKEN", "KAGGLE_KEY"),
    "judge": ("TUNIX_RT_JUDGE_API_KEY", "OPENAI_API_KEY"),
}
_FILES = {"Hugging Face": "~/.cache/huggingface/token", "Kaggle": "~/.kaggle/kaggle.json"}


def home_problems(settings: Settings, free_bytes: int) -> Iterator[DoctorProblem]:
    """What keeps runs from writing into the home."""
    if free_bytes < _MIN_FREE_BYTES:
        yield DoctorProblem(
            detail=f"Only {free_bytes / 2**20:.0f} MiB are free on the disk of {settings.home_dir}.",
            next_step="Free space: a checkpoint that finds a full disk ends its run.",
        )
    for directory in (settings.home_dir, settings.runs_dir, settings.jobs_dir):
        if directory.exists() and not os.access(directory, os.W_OK | os.X_OK):
            yield DoctorProblem(
                detail=f"Nothing can be written into {directory}.",
                next_step="Give it to the user that runs the server and the workers: chown -R USER DIR",
            )


def examine_service(home: Home, now: datetime) -> tuple[ServiceReport, tuple[DoctorProblem, ...]]:
    """The queue at this moment, and what is wrong with it."""
    queue = queue_figures(home.database, now)
    workers = [
        _report(worker, now)
        for worker in WorkerRepository(home.database).list()
        if worker.status not in _GONE
    ]
    report = ServiceReport(
        is_queue_paused=FlagRepository(home.database).is_queue_paused(),
        num_waiting=queue.num_waiting,
        num_running=len(queue.running),
        workers=tuple(workers),
    )
    return report, tuple(_problems(home, report))


def _report(worker: Worker, now: datetime) -> WorkerReport:
    return WorkerReport(
        worker_id=worker.worker_id,
        host=worker.host,
        slots=tuple(map(str, worker.slots)),
        status=worker.status,
        last_seen_s_ago=max((now - worker.last_seen_at).total_seconds(), 0.0),
    )


def _problems(home: Home, report: ServiceReport) -> Iterator[DoctorProblem]:
    lease_s = home.settings.worker_lease_s
    alive = {worker.worker_id for worker in report.workers if worker.last_seen_s_ago < lease_s}
    if report.num_waiting and not report.is_queue_paused and not alive:
        yield DoctorProblem(
            detail=f"Runs wait ({report.num_waiting}), and no worker is alive.",
            next_step="Start one: tunix-rt worker, or tunix-rt up, which has one of its own.",
        )
    orphans = sorted(
        lease.run_id for lease in RunRepository(home.database).leases() if lease.worker_id not in alive
    )
    if orphans:
        yield DoctorProblem(
            detail=f"The worker of {', '.join(orphans)} has not been seen for over {lease_s:.0f} s.",
            next_step="Start a worker: it notices, and goes on from the last checkpoint: tunix-rt worker",
        )


def hub_tokens(environ: Mapping[str, str]) -> tuple[HubToken, ...]:
    """For each service elsewhere, where its token was found; tokens themselves are not looked at."""
    return tuple(HubToken(hub=hub, found_in=_found_in(hub, environ)) for hub in _VARIABLES)


def _found_in(hub: str, environ: Mapping[str, str]) -> str | None:
    for name in _VARIABLES[hub]:
        if environ.get(name):
            return name
    file = _FILES.get(hub)
    if hub == "Hugging Face" and "HF_HOME" in environ:
        file = f"{environ['HF_HOME']}/token"
    return file if file is not None and Path(file).expanduser().is_file() else None
