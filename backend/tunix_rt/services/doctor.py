"""The use case behind `tunix-rt doctor`: look at everything that a run needs, and say what is broken."""

import os
import platform
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from tunix_rt import __version__
from tunix_rt.base.errors import MissingExtraError, StorageError
from tunix_rt.base.home import open_home
from tunix_rt.base.host import available_memory_bytes, usable_cores
from tunix_rt.base.settings import Settings
from tunix_rt.core.doctor import Ability, DatabaseReport, Diagnosis, EngineReport, ExtraReport, ServiceReport
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
from tunix_rt.services.doctor_service import examine_service, home_problems, hub_tokens
from tunix_rt.services.health import check_health

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
