"""Every TUNIX_RT_* setting and the directories of the home.

jobs/<run_id>/recipe.yaml   the resolved recipe that the engine gets, written when the run is submitted
jobs/<run_id>/output.log    the raw bytes that its processes printed, over all attempts; locked by them
jobs/<run_id>/attempt.json  where the newest attempt began
jobs/<run_id>/child.json    who supervises the newest attempt; absent while that one begins
jobs/<run_id>/exit.json     how that attempt ended, written when nothing of it runs any more

runs/<run_id>/recipe.resolved.json  plan.json  environment.json  code.diff
runs/<run_id>/metrics.jsonl  events.jsonl  log.txt     appended line by line
runs/<run_id>/checkpoints/<step>/  model/              whole directories
runs/<run_id>/run_manifest.json                        written last
"""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from tunix_rt.base.errors import InvalidInputError

MIB = 1024 * 1024
EVALSETS = "evalsets"
"""Name of the directory of eval sets, beside `datasets`."""


_PREFIX = "tunix_rt_"


class Settings(BaseModel):
    """Locations, limits and defaults: arguments first, then `TUNIX_RT_*` variables, then the defaults here.

    The variables are read here because pydantic-settings takes 0.13 s to import, more than pydantic itself,
    and every command needs the settings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

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
    """Largest body of a request with one trace, and of every request without a limit of its own."""
    batch_max_bytes: Annotated[int, Field(ge=1024, le=1024 * MIB)] = 64 * MIB
    """Largest body of a batch of traces."""
    upload_max_bytes: Annotated[int, Field(ge=1024)] = 1024 * MIB
    """Largest uploaded file."""
    host: str = "127.0.0.1"
    """Address that `tunix-rt up` listens on; without an access token only loopback is allowed."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which the server may be called, separated by commas; those of loopback always may."""
    require_token: bool = False
    """Ask for an access token on loopback too, as behind a reverse proxy."""
    web_dir: Path | None = None
    """Directory of the built web app. Default: the one in the package, which `make web` builds."""
    log_format: Literal["text", "json"] = "text"
    """What a line of the server's and the worker's log looks like."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least that they log."""
    port: Annotated[int, Field(ge=1, le=65535)] = 8000
    """Port that `tunix-rt up` listens on."""
    judge_base_url: str | None = None
    """OpenAI-compatible endpoint that `tunix-rt eval judge` asks, e.g. `http://127.0.0.1:8000/v1`."""
    judge_api_key: SecretStr | None = None
    """Key of that endpoint. Without it `OPENAI_API_KEY` is used."""
    worker_beat_s: Annotated[float, Field(gt=0)] = 2.0
    """How often a worker says that it lives, and asks whether its runs are to stop."""
    worker_poll_s: Annotated[float, Field(gt=0)] = 1.0
    """How often an idle worker looks for a run."""
    worker_lease_s: Annotated[float, Field(gt=0)] = 60.0
    """How long a worker that cannot reach the database goes on; others wait that and `cancel_grace_s`."""
    cancel_grace_s: Annotated[float, Field(ge=0)] = 30.0
    """How long a run that is told to stop may take to save; then it is killed."""
    run_max_failures: Annotated[int, Field(ge=1)] = 3
    """How often in a row a run may break down for reasons outside of it, without a new checkpoint between."""
    ray_address: str = "auto"
    """The Ray cluster of `tunix-rt worker --executor ray`, e.g. `10.0.0.1:6379`; auto: this machine's."""
    ray_cpus_per_run: Annotated[float, Field(gt=0)] = 1.0
    """CPUs that a run takes of a node of the cluster."""
    ray_devices_per_run: Annotated[int, Field(ge=1)] = 1
    """GPUs or TPU chips that a run takes of a node when an axis of its mesh is `auto`."""
    checkpoint_url: str | None = None
    """Where nodes keep checkpoints for each other, e.g. `file:///shared/checkpoints` or `s3://bucket/path`."""

    serving_engine: Literal["auto", "jax", "torch"] = "auto"
    """The engine that answers under `/v1`; auto takes the one that suits this machine."""
    serving_device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    """Where the models that answer are loaded; auto takes a TPU, else a GPU, else the CPU."""
    serving_max_models: Annotated[int, Field(ge=1)] = 2
    """Models that are loaded at a time; the one that was asked least recently gives way."""
    serving_max_requests: Annotated[int, Field(ge=1)] = 64
    """Requests that one model takes at a time; more are told to come back."""
    serving_max_rows: Annotated[int, Field(ge=1)] = 8
    """Completions that one model writes side by side; more wait for a row."""
    serving_idle_s: Annotated[float, Field(gt=0)] = 600.0
    """How long a model that nobody asks stays loaded."""

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return tuple(name.strip().lower() for name in value.split(",") if name.strip())

    @property
    def home_dir(self) -> Path:
        """The home directory, absolute."""
        return self.home.expanduser().resolve()

    @property
    def datasets_dir(self) -> Path:
        """Where dataset directories live."""
        return self.home_dir / "datasets"

    @property
    def runs_dir(self) -> Path:
        """Where run directories live."""
        return self.home_dir / "runs"

    @property
    def jobs_dir(self) -> Path:
        """Where the service keeps what it knows of runs, beside their directories."""
        return self.home_dir / "jobs"

    @property
    def tasks_dir(self) -> Path:
        """Where workers keep what belongs to a task: its output, its progress, what it exported."""
        return self.home_dir / "tasks"

    @property
    def models_dir(self) -> Path:
        """Where the weights of registered models live."""
        return self.home_dir / "models"

    @property
    def evaluations_dir(self) -> Path:
        """Where evaluation directories live."""
        return self.home_dir / "evaluations"

    @property
    def faithfulness_dir(self) -> Path:
        """Where reports of faithfulness live, one directory each."""
        return self.home_dir / "faithfulness"

    @property
    def evidence_dir(self) -> Path:
        """Where evidence bundles live that were packed without another place."""
        return self.home_dir / "evidence"

    @property
    def judge_cache_dir(self) -> Path:
        """Where replies of judges are kept."""
        return self.home_dir / "judge_cache"

    @property
    def plans_dir(self) -> Path:
        """Where what the compiler said about a step is kept."""
        return self.home_dir / "plans"

    @property
    def parity_dir(self) -> Path:
        """Where certificates of parity are kept."""
        return self.home_dir / "parity"

    @property
    def recipes_dir(self) -> Path:
        """Where a user's own recipes live; the shipped ones are inside the package."""
        return self.home_dir / "recipes"

    @property
    def evalsets_dir(self) -> Path:
        """Where a user's own eval sets live; the shipped ones are inside the package."""
        return self.home_dir / EVALSETS

    @property
    def resolved_database_url(self) -> str:
        """The URL that SQLAlchemy gets; `postgresql://` is served by psycopg."""
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
            f"The environment variable {name} is not acceptable: {problem['msg']}.",
            next_step="Correct or unset it; docs/configuration.md lists every setting.",
        ) from error


JOB_RECIPE_FILE = "recipe.yaml"

RUN_RECIPE_FILE = "recipe.resolved.json"
