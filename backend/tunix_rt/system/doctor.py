"""What works on this machine and what does not."""

import os
import platform
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
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
from tunix_rt.engines.types import DoctorProblem, EngineName
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import FlagRepository, WorkerRepository, queue_figures
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
_VARIABLES = {
    "Hugging Face": ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    "Kaggle": ("KAGGLE_API_TOKEN", "KAGGLE_KEY"),
    "judge": ("TUNIX_RT_JUDGE_API_KEY", "OPENAI_API_KEY"),
}
_FILES = {"Hugging Face": "~/.cache/huggingface/token", "Kaggle": "~/.kaggle/kaggle.json"}


def home_problems(settings: Settings, free_bytes: int) -> Iterator[DoctorProblem]:
    """Problems that prevent runs from writing to the home."""
    if free_bytes < _MIN_FREE_BYTES:
        yield DoctorProblem(
            detail=f"Only {free_bytes / 2**20:.0f} MiB are free on the disk of {settings.home_dir}.",
            next_step="Free space: a run fails when a checkpoint does not fit on the disk.",
        )
    for directory in (settings.home_dir, settings.runs_dir, settings.jobs_dir):
        if directory.exists() and not os.access(directory, os.W_OK | os.X_OK):
            yield DoctorProblem(
                detail=f"{directory} is not writable.",
                next_step="Make the user of the server and the workers its owner: chown -R USER DIR",
            )


def service_report(home: Home, now: datetime) -> tuple[ServiceReport, tuple[DoctorProblem, ...]]:
    """The queue now, and its problems."""
    queue = queue_figures(home.database, now)
    workers = tuple(
        WorkerReport(
            worker_id=worker.worker_id,
            host=worker.host,
            slots=tuple(map(str, worker.slots)),
            status=worker.status,
            last_seen_s_ago=max((now - worker.last_seen_at).total_seconds(), 0.0),
        )
        for worker in WorkerRepository(home.database).list()
        if worker.status not in ("stopped", "lost")
    )
    report = ServiceReport(
        is_queue_paused=FlagRepository(home.database).is_queue_paused(),
        num_waiting=queue.num_waiting,
        num_running=len(queue.running),
        workers=workers,
    )
    return report, tuple(_problems(home, report))


def _problems(home: Home, report: ServiceReport) -> Iterator[DoctorProblem]:
    lease_s = home.settings.worker_lease_s
    alive = {worker.worker_id for worker in report.workers if worker.last_seen_s_ago < lease_s}
    if report.num_waiting and not report.is_queue_paused and not alive:
        yield DoctorProblem(
            detail=f"Runs are waiting ({report.num_waiting}), and no worker is alive.",
            next_step="Start one: tunix-rt worker, or tunix-rt up, which includes one.",
        )
    leases = RunRepository(home.database).leases()
    orphans = sorted(lease.run_id for lease in leases if lease.worker_id not in alive)
    if orphans:
        yield DoctorProblem(
            detail=f"The worker of {', '.join(orphans)} has not been seen for over {lease_s:.0f} s.",
            next_step="Start a worker, which continues from the last checkpoint: tunix-rt worker",
        )


def hub_tokens(environ: Mapping[str, str]) -> tuple[HubToken, ...]:
    """Where the token of each external service was found; the tokens themselves are not read."""
    files = _FILES | ({"Hugging Face": f"{environ['HF_HOME']}/token"} if "HF_HOME" in environ else {})
    found = []
    for hub, variables in _VARIABLES.items():
        places = [name for name in variables if environ.get(name)]
        if hub in files and Path(files[hub]).expanduser().is_file():
            places.append(files[hub])
        found.append(HubToken(hub=hub, found_in=places[0] if places else None))
    return tuple(found)


_ABILITIES: dict[EngineName, dict[str, str]] = {
    "jax": {
        "training (full, LoRA, QLoRA) and generating": "jax",
        "plans from the TPU compiler": "libtpu",
        "plans from the CUDA compiler": "jax-cuda12-plugin",
    },
    "torch": {
        "training (full, LoRA, QLoRA with int8) and generating": "torch",
        "QLoRA with nf4": "bitsandbytes",
        "attention by FlashAttention": "flash-attn",
    },
}
"""The package that each feature of an engine needs."""


@dataclass(frozen=True)
class _HomeReport:
    database: DatabaseReport | None
    free_disk_bytes: int | None
    service: ServiceReport | None
    problems: tuple[DoctorProblem, ...]


def diagnose(settings: Settings, *, timeout_s: float = PROBE_TIMEOUT_S) -> Diagnosis:
    """Check the machine, both engines and the home. No accelerator library is loaded in this process.

    Args:
        settings: The home and the database.
        timeout_s: How long an engine may take to open a device.
    """
    machine = this_machine()
    report = _home_report(settings)
    # Every installed engine on every platform that this machine may have.
    questions = [(engine, device) for engine in ENGINES for device in platforms(engine, machine)]
    with ThreadPoolExecutor(max_workers=len(questions) or 1) as pool:
        probed = pool.map(lambda question: probe(*question, timeout_s=timeout_s), questions)
        answers = list(zip(questions, probed, strict=True))
    try:
        auto_engine = str(choose_engine("auto", "auto", machine))
    except MissingExtraError as error:
        auto_engine = str(error)
    return Diagnosis(
        tunix_rt_version=__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        num_cpus=usable_cores(),
        available_memory_bytes=available_memory_bytes(),
        driver=nvidia_driver(),
        engines=tuple(
            _engine_report(engine, machine, [answer for (name, _), answer in answers if name == engine])
            for engine in ENGINES
        ),
        auto_engine=auto_engine,
        extras=tuple(map(_extra_report, EXTRAS)),
        home=str(settings.home_dir),
        free_disk_bytes=report.free_disk_bytes,
        database=report.database,
        service=report.service,
        hub_tokens=hub_tokens(os.environ),
        problems=(*report.problems, *(one.problem for _, one in answers if one.problem is not None)),
    )


def _engine_report(engine: EngineName, machine: Machine, answers: Sequence[ProbeAnswer]) -> EngineReport:
    return EngineReport(
        name=engine,
        is_installed=machine.has(engine),
        packages=_versions(EXTRAS[engine]),
        devices=tuple(answer.device for answer in answers if answer.device is not None),
        abilities=tuple(
            Ability(what=what, is_available=installed_version(package) is not None, needs=package)
            for what, package in _ABILITIES[engine].items()
        ),
    )


def _extra_report(extra: str) -> ExtraReport:
    packages = _versions(EXTRAS[extra])
    return ExtraReport(name=extra, is_installed=len(packages) == len(EXTRAS[extra]), packages=packages)


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    return {name: version for name in packages if (version := installed_version(name)) is not None}


def _home_report(settings: Settings) -> _HomeReport:
    try:
        home = open_home(settings)
    except StorageError as error:
        problem = DoctorProblem(detail=error.detail, next_step=error.next_step)
        return _HomeReport(None, None, None, (problem,))
    with closing(home):
        health = check_health(home)
        address = home.database.url.render_as_string(hide_password=True)
        database = DatabaseReport(
            kind=health.database, address=address, latency_ms=health.database_latency_ms
        )
        free_bytes = shutil.disk_usage(settings.home_dir).free
        service, problems = service_report(home, datetime.now(UTC))
        return _HomeReport(database, free_bytes, service, (*home_problems(settings, free_bytes), *problems))


class Examination(Record):
    """A diagnosis and its time."""

    examined_at: datetime
    diagnosis: Diagnosis


class CachedDiagnosis:
    """Diagnoses once for all callers; concurrent callers share the same result."""

    def __init__(self, diagnose: Callable[[], Diagnosis]) -> None:
        self._diagnose = diagnose
        self._lock = threading.Lock()
        self._last: Examination | None = None

    def get(self, *, is_fresh: bool = False) -> Examination:
        """The last examination; a new one if there is none, or with `is_fresh`."""
        asked_at = datetime.now(UTC)
        with self._lock:
            if self._last is None or (is_fresh and self._last.examined_at < asked_at):
                self._last = Examination(examined_at=datetime.now(UTC), diagnosis=self._diagnose())
            return self._last
