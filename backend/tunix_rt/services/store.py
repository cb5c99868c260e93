"""The home directory and the database, opened together."""

from dataclasses import dataclass

from sqlalchemy import Engine

from tunix_rt.config.settings import Settings
from tunix_rt.db.baselines import BaselineRepository
from tunix_rt.db.engine import open_engine
from tunix_rt.db.evaluations import EvaluationRepository
from tunix_rt.db.flags import FlagRepository
from tunix_rt.db.gate_checks import GateCheckRepository
from tunix_rt.db.migrate import ensure_schema
from tunix_rt.db.models import ModelRepository
from tunix_rt.db.preferences import PreferenceRepository
from tunix_rt.db.runs import RunRepository
from tunix_rt.db.sweeps import SweepRepository
from tunix_rt.db.tasks import TaskRepository
from tunix_rt.db.tokens import TokenRepository
from tunix_rt.db.traces import TraceRepository
from tunix_rt.db.workers import WorkerRepository
from tunix_rt.files.atomic import storage_errors
from tunix_rt.services.runs.outside import OutsideRuns


@dataclass(frozen=True)
class Store:
    """Everything that is kept: the settings say where, the repositories say what."""

    settings: Settings
    engine: Engine
    traces: TraceRepository
    evaluations: EvaluationRepository
    baselines: BaselineRepository
    gate_checks: GateCheckRepository
    models: ModelRepository
    preferences: PreferenceRepository
    runs: RunRepository
    outside: OutsideRuns
    tasks: TaskRepository
    workers: WorkerRepository
    flags: FlagRepository
    tokens: TokenRepository
    sweeps: SweepRepository

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()


def open_store(settings: Settings) -> Store:
    """Open the store that `settings` names; make or upgrade it where needed.

    Raises:
        StorageError: the home directory cannot be written, or the database does not answer.
    """
    with storage_errors("creating the home directory"):
        settings.home_dir.mkdir(parents=True, exist_ok=True)
    engine = open_engine(settings.resolved_database_url)
    ensure_schema(engine)
    return store_over(engine, settings)


def store_over(engine: Engine, settings: Settings) -> Store:
    """Every repository over one database; nothing is connected to yet."""
    return Store(
        settings=settings,
        engine=engine,
        traces=TraceRepository(engine),
        evaluations=EvaluationRepository(engine),
        baselines=BaselineRepository(engine),
        gate_checks=GateCheckRepository(engine),
        models=ModelRepository(engine),
        preferences=PreferenceRepository(engine),
        runs=(runs := RunRepository(engine)),
        outside=OutsideRuns(settings.runs_dir, runs),
        tasks=TaskRepository(engine),
        workers=WorkerRepository(engine),
        flags=FlagRepository(engine),
        tokens=TokenRepository(engine),
        sweeps=SweepRepository(engine),
    )
