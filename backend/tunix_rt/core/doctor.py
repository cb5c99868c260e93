"""What `tunix-rt doctor` finds: the machine, the engines and the store, and what is wrong with them."""

from tunix_rt.base.records import Count
from tunix_rt.engines.types import DeviceReport, DoctorProblem, _Record


class Ability(_Record):
    """Something that an engine can do where what it needs is there."""

    what: str
    is_available: bool
    needs: str
    """What it takes, whether that is there or not."""


class EngineReport(_Record):
    """One engine on this machine."""

    name: str
    is_installed: bool
    packages: dict[str, str]
    """Versions of what it is made of."""
    devices: tuple[DeviceReport, ...] = ()
    """Each of them has multiplied two matrices."""
    abilities: tuple[Ability, ...] = ()


class ExtraReport(_Record):
    """One optional part of the installation."""

    name: str
    is_installed: bool
    packages: dict[str, str]
    """Versions of those of its packages that are there."""


class DatabaseReport(_Record):
    """The database, after it has answered."""

    kind: str
    address: str
    """Without its password."""
    latency_ms: float


class HubToken(_Record):
    """Whether a service elsewhere will know us. The token itself is shown nowhere."""

    hub: str
    found_in: str | None = None
    """An environment variable or a file; None: there is none."""


class WorkerReport(_Record):
    """A worker that has not said goodbye."""

    worker_id: str
    host: str
    slots: tuple[str, ...]
    status: str
    last_seen_s_ago: float


class ServiceReport(_Record):
    """The queue and who works for it."""

    is_queue_paused: bool
    num_waiting: Count
    """Runs that a worker could take now."""
    num_running: Count
    workers: tuple[WorkerReport, ...]


class Diagnosis(_Record):
    """Everything that was found."""

    tunix_rt_version: str
    python: str
    platform: str
    num_cpus: Count
    available_memory_bytes: Count | None = None
    driver: str | None = None
    """Of NVIDIA."""
    engines: tuple[EngineReport, ...]
    auto_engine: str
    """What `--engine auto` takes and why, or why it cannot."""
    extras: tuple[ExtraReport, ...]
    home: str
    free_disk_bytes: Count | None = None
    database: DatabaseReport | None = None
    service: ServiceReport | None = None
    hub_tokens: tuple[HubToken, ...] = ()
    problems: tuple[DoctorProblem, ...] = ()
    """What is installed and broken; a part that is not installed is none."""
