"""Every TUNIX_RT_* setting and the directories of the home."""

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from tunix_rt.base.errors import InvalidInputError

MIB = 1024 * 1024
EVALSETS = "evalsets"
"""Name of the eval set directory."""
JOB_RECIPE_FILE = "recipe.yaml"
"""The recipe that a submitted run will train, in jobs/<run_id>."""
RUN_RECIPE_FILE = "recipe.resolved.json"
"""The recipe that ran, with every default and override, in runs/<run_id>."""


_PREFIX = "tunix_rt_"


class _HomeDirectory:
    """A directory of the home, by its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, settings: "Settings", _owner: type) -> Path:
        return settings.home_dir / self._name


class Settings(BaseModel):
    """Locations, limits and defaults: arguments first, then `TUNIX_RT_*` variables, then the defaults here.

    The variables are read here because pydantic-settings takes 0.13 s to import, more than pydantic itself,
    and every command needs the settings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    def __init__(self, **values: Any) -> None:
        environment = {
            name.lower().removeprefix(_PREFIX): value
            for name, value in os.environ.items()
            if name.lower().startswith(_PREFIX)
        }
        super().__init__(
            **{name: environment[name] for name in type(self).model_fields if name in environment} | values
        )

    home: Path = Path("~/.tunix-rt")
    """Directory of the database, datasets, runs, evaluations and models."""
    database_url: str | None = None
    """SQLAlchemy URL, e.g. `postgresql://user@host/name`. Default: SQLite in the home directory."""
    trace_max_bytes: Annotated[int, Field(ge=1024, le=64 * MIB)] = 1 * MIB
    """Maximum request body for one trace, and for every route without its own limit, in bytes."""
    batch_max_bytes: Annotated[int, Field(ge=1024, le=1024 * MIB)] = 64 * MIB
    """Maximum request body for a batch of traces, in bytes."""
    upload_max_bytes: Annotated[int, Field(ge=1024)] = 1024 * MIB
    """Maximum size of an uploaded file, in bytes."""
    host: str = "127.0.0.1"
    """Address that `tunix-rt up` listens on; without an access token only loopback is allowed."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names that the server accepts, separated by commas; loopback names are always accepted."""
    require_token: bool = False
    """Require an access token on loopback too, e.g. behind a reverse proxy."""
    model_dirs: tuple[Path, ...] = ()
    """Directories of models, separated by commas: clients may name the models in them by their paths."""
    web_dir: Path | None = None
    """Directory of the built web app. Default: the one in the package, which `make web` builds."""
    log_format: Literal["text", "json"] = "text"
    """Format of the log lines of the server and the worker."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that the server and the worker log."""
    port: Annotated[int, Field(ge=1, le=65535)] = 8000
    """Port that `tunix-rt up` listens on."""
    judge_base_url: str | None = None
    """OpenAI-compatible endpoint that `tunix-rt eval judge` calls, e.g. `http://127.0.0.1:8000/v1`."""
    judge_api_key: SecretStr | None = None
    """API key for that endpoint. Default: `OPENAI_API_KEY`."""
    worker_beat_s: Annotated[float, Field(gt=0)] = 2.0
    """Seconds between heartbeats of a worker, which also checks for stop requests."""
    worker_poll_s: Annotated[float, Field(gt=0)] = 1.0
    """Seconds between polls of an idle worker for a run."""
    worker_lease_s: Annotated[float, Field(gt=0)] = 60.0
    """Seconds that a worker continues without the database; others wait this plus `cancel_grace_s`."""
    cancel_grace_s: Annotated[float, Field(ge=0)] = 30.0
    """Seconds that a run may take to save after a stop request; then it is killed."""
    run_max_failures: Annotated[int, Field(ge=1)] = 3
    """Consecutive infrastructure failures without a new checkpoint after which a run is given up."""
    ray_address: str = "auto"
    """The Ray cluster of `tunix-rt worker --executor ray`, e.g. `10.0.0.1:6379`; auto: the local one."""
    ray_cpus_per_run: Annotated[float, Field(gt=0)] = 1.0
    """CPUs that a run reserves on a cluster node."""
    ray_devices_per_run: Annotated[int, Field(ge=1)] = 1
    """GPUs or TPU chips that a run reserves on a node when an axis of its mesh is `auto`."""
    checkpoint_url: str | None = None
    """Shared checkpoint storage of the nodes, e.g. `file:///shared/checkpoints` or `s3://bucket/path`."""

    serving_engine: Literal["auto", "jax", "torch"] = "auto"
    """Engine for `/v1`; auto chooses the one that suits this machine."""
    serving_device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    """Device for served models; auto prefers a TPU, then a GPU, then the CPU."""
    serving_max_models: Annotated[int, Field(ge=1)] = 2
    """Models loaded at the same time; the least recently used one is unloaded first."""
    serving_max_requests: Annotated[int, Field(ge=1)] = 64
    """Concurrent requests per model; further ones are asked to retry later."""
    serving_max_rows: Annotated[int, Field(ge=1)] = 8
    """Completions that one model decodes in parallel; further ones are queued."""
    serving_idle_s: Annotated[float, Field(gt=0)] = 600.0
    """Seconds until an idle model is unloaded."""

    datasets_dir: ClassVar = _HomeDirectory("datasets")
    """Dataset directories."""
    runs_dir: ClassVar = _HomeDirectory("runs")
    """Run directories."""
    jobs_dir: ClassVar = _HomeDirectory("jobs")
    """The service's own files about runs, separate from the run directories."""
    tasks_dir: ClassVar = _HomeDirectory("tasks")
    """Files of tasks: output, progress, exports."""
    models_dir: ClassVar = _HomeDirectory("models")
    """Weights of registered models."""
    evaluations_dir: ClassVar = _HomeDirectory("evaluations")
    """Evaluation directories."""
    faithfulness_dir: ClassVar = _HomeDirectory("faithfulness")
    """Faithfulness reports, one directory each."""
    evidence_dir: ClassVar = _HomeDirectory("evidence")
    """Default directory for evidence bundles."""
    judge_cache_dir: ClassVar = _HomeDirectory("judge_cache")
    """Cached replies of judges."""
    plans_dir: ClassVar = _HomeDirectory("plans")
    """Cached compiler reports about training steps."""
    parity_dir: ClassVar = _HomeDirectory("parity")
    """Parity certificates."""
    recipes_dir: ClassVar = _HomeDirectory("recipes")
    """The user's recipes; the shipped ones are inside the package."""
    evalsets_dir: ClassVar = _HomeDirectory(EVALSETS)
    """The user's eval sets; the shipped ones are inside the package."""

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return tuple(name.strip().lower() for name in value.split(",") if name.strip())

    @field_validator("model_dirs", mode="before")
    @classmethod
    def _split_paths(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in value.split(",") if part.strip())

    @field_validator("model_dirs")
    @classmethod
    def _are_absolute(cls, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        located = tuple(path.expanduser() for path in paths)
        if not all(path.is_absolute() for path in located):
            raise ValueError("write absolute paths")
        return located

    @property
    def home_dir(self) -> Path:
        """The home directory, absolute."""
        return self.home.expanduser().resolve()

    @property
    def resolved_database_url(self) -> str:
        """The URL for SQLAlchemy; `postgresql://` uses psycopg."""
        if self.database_url is None:
            return f"sqlite:///{self.home_dir / 'tunix_rt.db'}"
        for prefix in ("postgresql://", "postgres://"):
            if self.database_url.startswith(prefix):
                return "postgresql+psycopg://" + self.database_url.removeprefix(prefix)
        return self.database_url


def load_settings() -> Settings:
    """The settings from the environment, or an error that names the variable."""
    try:
        return Settings()
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = f"TUNIX_RT_{str(problem['loc'][0]).upper()}"
        raise InvalidInputError(
            f"The environment variable {name} is invalid: {problem['msg']}.",
            next_step="Correct or unset it; docs/configuration.md lists every setting.",
        ) from error
