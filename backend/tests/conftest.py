"""Shared fixtures: an empty store on each database, an HTTP client, golden files, a training workspace."""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import psycopg
import pytest
from fastapi.testclient import TestClient
from support.apps import make_app
from support.databases import TEMPLATE, Databases
from support.postgres import postgres_server
from support.training import workspace_fixture

from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings

GOLDEN = Path(__file__).parent / "golden"

# Tests run each compiled step only a few times, so compile time matters more than step time. With these flags
# XLA compiles five times faster, mostly because of the older fusion emitters. Child processes inherit them.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    " --xla_cpu_parallel_codegen_split_count=1",
)
# Otherwise JAX looks for a TPU first, because the TPU compiler is installed.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# The torch engine sets the same on a CPU: many containers report AMX but forbid its use.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# No deadline: timings are unreliable on a busy machine. Examples are deterministic; HYPOTHESIS_EXPLORE=1
# searches for new ones. Record a failing example with @example.
hypothesis.settings.register_profile(
    "tunix-rt",
    deadline=None,
    derandomize="HYPOTHESIS_EXPLORE" not in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("tunix-rt")


COMPILATION_CACHE = "JAX_COMPILATION_CACHE_DIR"
# The slowest files start first, so that no worker is still busy with one when the others are done.
SLOWEST_FIRST = (
    "test_kill_training.py",
    "test_demo.py",
    "test_fuzz_http.py",
    "test_every_key.py",
    "test_kaggle_notebook.py",
    "test_generation_children.py",
    "test_interrupts.py",
    "test_cli_process.py",
    "test_train_together.py",
    "test_distributed.py",
)
_cache_dir = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Make Ctrl-C work, and share one JAX compilation cache between workers and child processes.

    JAX reads the variables when it is imported. The workers of pytest-xdist inherit them.
    """
    # A shell without job control ignores SIGINT in background commands, and children inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if COMPILATION_CACHE in os.environ:
        return
    config.stash[_cache_dir] = Path(tempfile.mkdtemp(prefix="tunix-rt-programs-"))
    os.environ[COMPILATION_CACHE] = str(config.stash[_cache_dir])
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def pytest_unconfigure(config: pytest.Config) -> None:
    if _cache_dir in config.stash:
        shutil.rmtree(config.stash[_cache_dir], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    positions = {name: position for position, name in enumerate(SLOWEST_FIRST)}
    items.sort(key=lambda item: positions.get(item.path.name, len(positions)))


def pytest_collection_finish() -> None:
    """Collect garbage rarely and exclude long-lived objects: collecting took 10 % of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


@pytest.fixture
def assert_golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{name} changed"

    return check


@pytest.fixture(autouse=True)
def _isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the home directory and the database of the user who runs the tests."""
    monkeypatch.delenv("TUNIX_RT_DATABASE_URL", raising=False)
    monkeypatch.setenv("TUNIX_RT_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real PostgreSQL server with a template database that has the schema."""
    with postgres_server() as url:
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {TEMPLATE}")
        settings = Settings(home=Path("unused-home"), database_url=f"{url}/{TEMPLATE}")
        _create_schema(settings)
        yield url


def _create_schema(settings: Settings) -> None:
    from tunix_rt.base.db.engine import open_engine
    from tunix_rt.base.db.migrate import ensure_schema

    engine = open_engine(settings.resolved_database_url)
    ensure_schema(engine)
    engine.dispose()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "tunix_rt.db"
    _create_schema(Settings(home=path.parent, database_url=f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def databases(postgres_url: str) -> Databases:
    return Databases(postgres_url)


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings of an empty store, once per database."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), home / "tunix_rt.db")
        yield Settings(home=home)
        return
    with request.getfixturevalue("databases").one() as url:
        yield Settings(home=home, database_url=url)


@pytest.fixture
def store(settings: Settings) -> Iterator[Home]:
    """An empty store, once on SQLite and once on PostgreSQL."""
    opened = open_home(settings)
    yield opened
    opened.close()


@pytest.fixture
def client(store: Home) -> Iterator[TestClient]:
    """HTTP to an app over an empty store, once per database."""
    with TestClient(make_app(store)) as test_client:
        yield test_client


workspace = workspace_fixture("jax")
