"""Diagnosis, backup manifest, access tokens and scopes."""

import hashlib
import ipaddress
import secrets
from datetime import datetime
from typing import Literal, get_args

from tunix_rt.base.records import Count, Record
from tunix_rt.engines.types import DeviceReport, DoctorProblem, _Record

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Each may do what those before it may."""

TOKEN_PREFIX = "trt_"
MIN_TOKEN_CHARS = 32
"""Of a token that somebody brings along; those that are made here have 256 random bits."""

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_QUEUE = "/api/tunix/queue"
_OPENAI = "/v1/"
_SESSION = "/api/session"


class ApiToken(Record):
    """What is kept of a token. The token itself is shown once, to whoever made it."""

    token_id: str
    name: str
    scope: Scope
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    """Within a minute."""
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether it opens anything at this moment."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def new_token() -> tuple[str, str]:
    """A token that nobody can guess, and the id by which people speak of it.

    Example:
        ("trt_3f9c2a11_Jx…", "3f9c2a11")
    """
    token_id = secrets.token_hex(4)
    return f"{TOKEN_PREFIX}{token_id}_{secrets.token_urlsafe(32)}", token_id


def token_hash(token: str) -> str:
    """What is stored in its place. A token has 256 random bits: no salt and no slow hash is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def allows(held: Scope, needed: Scope) -> bool:
    """Whether a token with the scope `held` may do what needs `needed`."""
    return SCOPES.index(held) >= SCOPES.index(needed)


def needed_scope(method: str, path: str) -> Scope:
    """The scope that a request needs.

    Example:
        GET /api/traces -> read; POST /v1/chat/completions -> read; POST /api/traces -> write;
        DELETE /api/tunix/runs/x -> admin; POST /api/tunix/queue/pause -> admin
    """
    # Signing a browser in and out changes nothing here.
    if method in _READING_METHODS or path == _SESSION:
        return "read"
    if method == "DELETE" or path == _QUEUE or path.startswith(f"{_QUEUE}/"):
        return "admin"
    # Asking a model changes nothing.
    return "read" if path.startswith(_OPENAI) else "write"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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


class ArchivedFile(Record):
    """One entry of the archive."""

    size_bytes: Count
    sha256: str
    is_read_only: bool = False


class ArchivedTable(ArchivedFile):
    """The rows of a table, one JSON object a line."""

    num_rows: Count


class BackupManifest(Record):
    """The last entry of a backup: with it the archive is complete."""

    backup_version: Literal["1"] = "1"
    created_at: datetime
    tunix_rt_version: str
    schema_revision: str
    database: str
    """Where the rows come from; they can go to any of the databases."""
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
        """Bytes of all entries, before they were packed."""
        return sum(entry.size_bytes for entry in (*self.tables.values(), *self.files.values()))
