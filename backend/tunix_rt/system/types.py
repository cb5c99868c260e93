"""Diagnosis, backup manifest, access tokens and scopes."""

import hashlib
import ipaddress
import secrets
from datetime import datetime
from typing import Literal, get_args

from tunix_rt.base.records import Count, Record
from tunix_rt.engines.types import DeviceReport, DoctorProblem

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Ascending: each scope includes the ones before it."""

TOKEN_PREFIX = "trt_"
MIN_TOKEN_CHARS = 32
"""Minimum length of a token from a file; generated ones have 256 random bits."""


class ApiToken(Record):
    """The stored record of a token. The token itself is shown only when it is created."""

    token_id: str
    name: str
    scope: Scope
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    """Precise to a minute."""
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether it is valid now."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def new_token() -> tuple[str, str]:
    """A random token and its public id.

    Example:
        ("trt_3f9c2a11_Jx…", "3f9c2a11")
    """
    token_id = secrets.token_hex(4)
    return f"{TOKEN_PREFIX}{token_id}_{secrets.token_urlsafe(32)}", token_id


def token_hash(token: str) -> str:
    """The stored hash. A token has 256 random bits, so it needs neither salt nor a slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def allows(held: Scope, needed: Scope) -> bool:
    """Whether the scope `held` includes the scope `needed`."""
    return SCOPES.index(held) >= SCOPES.index(needed)


def needed_scope(method: str, path: str) -> Scope:
    """The scope that a request needs.

    Example:
        GET /api/traces -> read; POST /v1/chat/completions -> read; POST /api/traces -> write;
        DELETE /api/tunix/runs/x -> admin; POST /api/tunix/queue/pause -> admin
    """
    # Signing in and out changes no data.
    if method in ("GET", "HEAD", "OPTIONS") or path == "/api/session":
        return "read"
    if method == "DELETE" or f"{path}/".startswith("/api/tunix/queue/"):
        return "admin"
    # Querying a model changes no data.
    return "read" if path.startswith("/v1/") else "write"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server on this address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Ability(Record):
    """A feature of an engine that depends on a package."""

    what: str
    is_available: bool
    needs: str
    """The required package, installed or not."""


class EngineReport(Record):
    """One engine on this machine."""

    name: str
    is_installed: bool
    packages: dict[str, str]
    """Versions of its packages."""
    devices: tuple[DeviceReport, ...] = ()
    """Devices that passed a matrix multiplication."""
    abilities: tuple[Ability, ...] = ()


class ExtraReport(Record):
    """An optional extra of the package."""

    name: str
    is_installed: bool
    packages: dict[str, str]
    """Versions of its installed packages."""


class DatabaseReport(Record):
    """A reachable database."""

    kind: str
    address: str
    """Without its password."""
    latency_ms: float


class HubToken(Record):
    """Whether a token for an external service was found. The token itself is never shown."""

    hub: str
    found_in: str | None = None
    """An environment variable or a file; None if there is no token."""


class WorkerReport(Record):
    """A worker that has not been stopped."""

    worker_id: str
    host: str
    slots: tuple[str, ...]
    status: str
    last_seen_s_ago: float


class ServiceReport(Record):
    """The queue and its workers."""

    is_queue_paused: bool
    num_waiting: Count
    """Runs that a worker could take now."""
    num_running: Count
    workers: tuple[WorkerReport, ...]


class Diagnosis(Record):
    """The result of `tunix-rt doctor`."""

    tunix_rt_version: str
    python: str
    platform: str
    num_cpus: Count
    available_memory_bytes: Count | None = None
    driver: str | None = None
    """Version of the NVIDIA driver."""
    engines: tuple[EngineReport, ...]
    auto_engine: str
    """The engine that `--engine auto` chooses and why, or why it cannot."""
    extras: tuple[ExtraReport, ...]
    home: str
    free_disk_bytes: Count | None = None
    database: DatabaseReport | None = None
    service: ServiceReport | None = None
    hub_tokens: tuple[HubToken, ...] = ()
    problems: tuple[DoctorProblem, ...] = ()
    """Problems of installed parts; missing extras are not problems."""


class ArchivedFile(Record):
    """One entry of the archive."""

    size_bytes: Count
    sha256: str
    is_read_only: bool = False


class ArchivedTable(ArchivedFile):
    """The rows of a table, one JSON object per line."""

    num_rows: Count


class BackupManifest(Record):
    """The last entry of a backup, which makes it complete."""

    backup_version: Literal["1"] = "1"
    created_at: datetime
    tunix_rt_version: str
    schema_revision: str
    database: str
    """The source database; backups can be restored into either kind."""
    has_checkpoints: bool
    tables: dict[str, ArchivedTable]
    files: dict[str, ArchivedFile]
    """By their paths in the home directory."""

    @property
    def num_rows(self) -> int:
        """Rows of all tables."""
        return sum(table.num_rows for table in self.tables.values())

    @property
    def size_bytes(self) -> int:
        """Uncompressed bytes of all entries."""
        return sum(entry.size_bytes for entry in (*self.tables.values(), *self.files.values()))
