"""What works on this machine and what does not."""

import os
import platform
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tunix_rt import __version__
from tunix_rt.base.errors import MissingExtraError, StorageError
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.host import available_memory_bytes, usable_cores
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.engines.select import (
    ENGINES,
    EXTRAS,
    PROBE_TIMEOUT_S,
    Machine,
    ProbeAnswer,
    choose_engine,
    installed_version,
    platforms,
    probe,
    this_machine,
)
from tunix_rt.engines.training.environment import nvidia_driver
from tunix_rt.engines.types import DoctorProblem, EngineName, Platform
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import FlagRepository, WorkerRepository, queue_figures
from tunix_rt.runs.types import Worker
from tunix_rt.system.health import check_health
from tunix_rt.system.types import (
    Ability,
    DatabaseReport,
    Diagnosis,
    EngineReport,
    ExtraReport,
    HubToken,
    ServiceReport,
    WorkerReport,
)

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


_JAX_ABILITIES = {
    "training (full, LoRA, QLoRA) and generating": "jax",
    "plans from the TPU compiler": "libtpu",
    "plans from the CUDA compiler": "jax-cuda12-plugin",
}
_TORCH_ABILITIES = {
    "training (full, LoRA, QLoRA with int8) and generating": "torch",
    "QLoRA with nf4": "bitsandbytes",
    "attention by FlashAttention": "flash-attn",
}


@dataclass(frozen=True)
class _StoreReport:
    database: DatabaseReport | None
    free_disk_bytes: int | None
    service: ServiceReport | None
    problems: tuple[DoctorProblem, ...]


def examine(settings: Settings, *, timeout_s: float = PROBE_TIMEOUT_S) -> Diagnosis:
    """Look at the machine, at both engines and at the store. Nothing of an accelerator is loaded here.

    Args:
        settings: Where the store is.
        timeout_s: How long an engine may take to open a device.
    """
    machine = this_machine()
    store = _examine_store(settings)
    answers = _probed(machine, timeout_s)
    problems = [answer.problem for answer in answers.values() if answer.problem is not None]
    return Diagnosis(
        tunix_rt_version=__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        num_cpus=usable_cores(),
        available_memory_bytes=available_memory_bytes(),
        driver=nvidia_driver(),
        engines=tuple(_engine_report(engine, machine, answers) for engine in ENGINES),
        auto_engine=_auto_engine(machine),
        extras=tuple(map(_extra_report, EXTRAS)),
        home=str(settings.home_dir),
        free_disk_bytes=store.free_disk_bytes,
        database=store.database,
        service=store.service,
        hub_tokens=hub_tokens(os.environ),
        problems=(*store.problems, *problems),
    )


_Probes = dict[tuple[EngineName, Platform], ProbeAnswer]


def _probed(machine: Machine, timeout_s: float) -> _Probes:
    """Every engine that is installed, on every platform that shows a sign of life."""
    questions = [(engine, device) for engine in ENGINES for device in platforms(engine, machine)]
    with ThreadPoolExecutor(max_workers=len(questions) or 1) as pool:
        answers = pool.map(lambda question: probe(*question, timeout_s=timeout_s), questions)
        return dict(zip(questions, answers, strict=True))


def _engine_report(engine: EngineName, machine: Machine, answers: _Probes) -> EngineReport:
    needs = _JAX_ABILITIES if engine == "jax" else _TORCH_ABILITIES
    devices = [answer.device for (name, _), answer in answers.items() if name == engine]
    return EngineReport(
        name=engine,
        is_installed=machine.has(engine),
        packages=_versions(EXTRAS[engine]),
        devices=tuple(device for device in devices if device is not None),
        abilities=tuple(
            Ability(what=what, is_available=installed_version(package) is not None, needs=package)
            for what, package in needs.items()
        ),
    )


def _extra_report(extra: str) -> ExtraReport:
    packages = _versions(EXTRAS[extra])
    return ExtraReport(name=extra, is_installed=len(packages) == len(EXTRAS[extra]), packages=packages)


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    return {name: version for name in packages if (version := installed_version(name)) is not None}


def _auto_engine(machine: Machine) -> str:
    try:
        return str(choose_engine("auto", "auto", machine))
    except MissingExtraError as error:
        return str(error)


def _examine_store(settings: Settings) -> _StoreReport:
    try:
        store = open_home(settings)
    except StorageError as error:
        problem = DoctorProblem(detail=error.detail, next_step=error.next_step)
        return _StoreReport(None, None, None, (problem,))
    try:
        health = check_health(store)
        address = store.database.url.render_as_string(hide_password=True)
        database = DatabaseReport(
            kind=health.database, address=address, latency_ms=health.database_latency_ms
        )
        free_bytes = shutil.disk_usage(settings.home_dir).free
        service, problems = examine_service(store, datetime.now(UTC))
        return _StoreReport(database, free_bytes, service, (*home_problems(settings, free_bytes), *problems))
    finally:
        store.close()


class Examination(Record):
    """The machine as it was found."""

    examined_at: datetime
    diagnosis: Diagnosis


class CachedDiagnosis:
    """Examines once for everybody who asks; whoever waits for the same examination gets the same."""

    def __init__(self, examine: Callable[[], Diagnosis]) -> None:
        """Nothing is examined yet."""
        self._examine = examine
        self._examining = threading.Lock()
        self._last: Examination | None = None

    def get(self, *, is_fresh: bool = False) -> Examination:
        """The last one; a new one when there is none, or when asked for."""
        asked_at = datetime.now(UTC)
        with self._examining:
            if self._last is None or (is_fresh and self._last.examined_at < asked_at):
                self._last = Examination(examined_at=datetime.now(UTC), diagnosis=self._examine())
            return self._last
