"""The machine and the certificate of parity, for people."""

from pathlib import Path

from tunix_rt.base.terminal.output import counted, out, print_table
from tunix_rt.core.doctor import Diagnosis, EngineReport, HubToken, ServiceReport, WorkerReport
from tunix_rt.engines.parity.types import ParityCertificate
from tunix_rt.engines.types import DeviceReport


def print_diagnosis(diagnosis: Diagnosis) -> None:
    """The machine, the engines, the extras, the store; what is broken comes last."""
    _line(f"tunix-rt {diagnosis.tunix_rt_version}, Python {diagnosis.python}, {diagnosis.platform}")
    memory, driver = _gib(diagnosis.available_memory_bytes), diagnosis.driver or "none"
    _line(f"{diagnosis.num_cpus} processors, {memory} of memory free, NVIDIA driver: {driver}")
    _line(f"home {diagnosis.home}, {_gib(diagnosis.free_disk_bytes)} free")
    if diagnosis.database is not None:
        _line(f"database {diagnosis.database.address}, answers in {diagnosis.database.latency_ms:.1f} ms")
    if diagnosis.service is not None:
        _print_service(diagnosis.service)
    _line(f"keys: {', '.join(map(_token_text, diagnosis.hub_tokens))}")
    _line()
    print_table(["engine", "version", "devices that work"], [_engine_row(one) for one in diagnosis.engines])
    _line(f"auto: {diagnosis.auto_engine}")
    _line()
    abilities = [
        (engine.name, one.what, "yes" if one.is_available else f"needs {one.needs}")
        for engine in diagnosis.engines
        if engine.is_installed
        for one in engine.abilities
    ]
    print_table(["engine", "can do", "here"], abilities)
    _line()
    print_table(
        ["extra", "installed", "packages"],
        [
            (extra.name, "yes" if extra.is_installed else "no", _packages(extra.packages))
            for extra in diagnosis.extras
        ],
    )
    for problem in diagnosis.problems:
        _line()
        _line(f"broken: {problem.detail}")
        _line(f"next:   {problem.next_step}")


def _print_service(service: ServiceReport) -> None:
    paused = ", paused" if service.is_queue_paused else ""
    workers = ", ".join(map(_worker_text, service.workers)) or "none"
    _line(f"queue: {service.num_waiting} waiting, {service.num_running} running{paused}; workers: {workers}")


def _worker_text(worker: WorkerReport) -> str:
    slots = " ".join(worker.slots)
    return f"{worker.worker_id} ({slots}; {worker.status}, seen {worker.last_seen_s_ago:.0f} s ago)"


def _token_text(token: HubToken) -> str:
    return f"{token.hub} {'–' if token.found_in is None else f'in {token.found_in}'}"


def print_certificate(certificate: ParityCertificate, path: Path) -> None:
    """Whether both engines train the same, and by how much they differ."""
    verdict = "the engines train the same" if certificate.passed else "the engines do NOT train the same"
    steps = counted(certificate.num_steps, "step")
    _line(f"{verdict}: {certificate.recipe_name}, {steps} in float32 on the CPU")
    first, second = certificate.runs
    print_table(
        ["", "difference", "allowed", "where"],
        [
            ("batches", "none" if certificate.batches_equal else "some", "none", "bytes of every step"),
            (
                "losses",
                f"{certificate.max_loss_difference:.2e}",
                f"{certificate.allowed_loss_difference:.0e}",
                f"step {certificate.max_loss_difference_step}",
            ),
            (
                "weights",
                f"{certificate.max_weight_difference:.2e}",
                f"{certificate.allowed_weight_difference:.0e}",
                certificate.max_weight_difference_tensor,
            ),
        ],
    )
    _line(f"loss {first.losses[0]:.4f} -> {first.losses[-1]:.4f} ({first.engine}), "
          f"{second.losses[0]:.4f} -> {second.losses[-1]:.4f} ({second.engine})")  # fmt: skip
    for override in certificate.overrides:
        _line(f"changed {override.key}: {override.recipe_value} -> {override.used_value} ({override.reason})")
    _line(f"certificate {path}")


def _engine_row(engine: EngineReport) -> tuple[str, str, str]:
    if not engine.is_installed:
        return engine.name, "–", f"not installed: pip install 'tunix-rt[{engine.name}]'"
    devices = ", ".join(map(_device_text, engine.devices)) or "none"
    return engine.name, engine.packages[engine.name], devices


def _device_text(device: DeviceReport) -> str:
    memory = "" if device.memory_bytes is None else f", {_gib(device.memory_bytes)} each"
    return f"{device.platform}: {device.num_devices} x {device.kind}{memory}"


def _packages(packages: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in packages.items()) or "–"


def _gib(num_bytes: int | None) -> str:
    return "?" if num_bytes is None else f"{num_bytes / 2**30:.1f} GiB"


def _line(text: str = "") -> None:
    out.print(text, markup=False, highlight=False)
