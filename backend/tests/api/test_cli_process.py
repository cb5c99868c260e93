"""The command line as a subprocess: streams, exit codes, signals, pipes and files left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.builders import make_trace
from support.children import PROGRAM, environment, run_here, run_program, start_program
from support.stores import apple_lines

from tunix_rt import __version__
from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import Trace, TraceFilter, canonical_json

WRONG = canonical_json(make_trace("What is 2 + 3?", ["2 + 3 = 6"], "6"))
RIGHT = canonical_json(make_trace("What is 2 + 3?", ["2 + 3 = 5"], "5"))
ACCELERATORS = ["jax", "jaxlib", "torch", "transformers", "flax", "optax", "tensorflow"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_text(f"{WRONG}\n\n{RIGHT}\n", encoding="utf-8")
    return path


def store_apples(settings: Settings, count: int) -> None:
    store = open_home(settings)
    TraceRepository(store.database).add_many(
        [(Trace.model_validate_json(line), line) for line in apple_lines(count)]
    )
    store.close()


def run_code(code: str, settings: Settings | None = None) -> list[str]:
    """Run Python code in a new interpreter and return the lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(settings), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def top_level(modules: str) -> set[str]:
    return {name.partition(".")[0] for name in modules.split()}


def test_lint_json_has_the_documented_shape(settings: Settings, file: Path) -> None:
    done = run_program("traces", "lint", file, "--json", settings=settings)
    assert (done.returncode, done.stderr) == (0, "")
    wrong, right = (json.loads(line) for line in done.stdout.splitlines())
    assert wrong.keys() == right.keys() == {"line", "score", "findings"}
    assert (wrong["line"], right["line"]) == (1, 3)
    assert wrong["findings"] == [
        {"code": "arithmetic-wrong", "step": 0, "span": [8, 9], "found": "6", "expected": "5"}
    ]
    assert (right["score"], right["findings"]) == (100.0, [])


def test_file_lint_needs_no_database_or_home(tmp_path: Path, file: Path) -> None:
    settings = Settings(home=tmp_path / "home", database_url="postgresql://nobody@127.0.0.1:1/nothing")
    assert run_program("traces", "lint", file, settings=settings).returncode == 0
    assert list(tmp_path.iterdir()) == [file]


def test_stdin_lint_reports_invalid_lines(settings: Settings) -> None:
    done = run_here("traces", "lint", "-", "--json", settings=settings, stdin=f"{RIGHT}\nnonsense\n")
    assert done.returncode == 3
    good, bad = (json.loads(line) for line in done.stdout.splitlines())
    assert (good["line"], bad["line"], bad["score"]) == (1, 2, None)
    assert "not JSON" in bad["error"]
    assert json.loads(done.stderr)["code"] == "bad-data"


@pytest.mark.parametrize(("threshold", "exit_code"), [("never", 0), ("warning", 1), ("error", 1)])
def test_lint_threshold_sets_exit_code(
    settings: Settings, file: Path, threshold: str, exit_code: int
) -> None:
    done = run_here("traces", "lint", file, "--fail-on", threshold, settings=settings)
    assert (done.returncode, done.stderr) == (exit_code, "")


def test_errors_go_to_stderr(settings: Settings) -> None:
    done = run_program("traces", "import", "no-such-file.jsonl", settings=settings)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: There is no file no-such-file.jsonl.\nnext:  Check the path.\n"
    as_json = run_here("traces", "import", "no-such-file.jsonl", "--json", settings=settings)
    assert (as_json.returncode, as_json.stdout) == (2, "")
    assert json.loads(as_json.stderr) == {
        "detail": "There is no file no-such-file.jsonl.",
        "next_step": "Check the path.",
        "code": "not-found",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command"),
        (["traces", "show", "not-a-uuid"], "UUID"),
        (["traces", "list", "--limit", "0"], "--limit"),
        (["traces", "list", "--code", "arithmetic-wrnog"], "Did you mean"),
        (["traces", "generate", "--task", "no-such-task"], "no-such-task"),
        (["up", "--host", "0.0.0.0"], "loopback"),
        (["up", "--host", "example.com"], "loopback"),
    ],
)
def test_usage_error_exits_2(settings: Settings, arguments: list[str], message: str) -> None:
    done = run_here(*arguments, settings=settings)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "environ",
    [
        {"TUNIX_RT_PORT": "many"},
        {"TUNIX_RT_DATABASE_URL": "mysql://somewhere"},
        {"TUNIX_RT_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"},
        {"TUNIX_RT_HOME": "/proc/nowhere"},
        {"TUNIX_RT_HOME": "/dev/null"},
        {"TUNIX_RT_HOME": "x" * 300},
    ],
)
def test_unusable_environment_gives_next_step(settings: Settings, environ: dict[str, str]) -> None:
    done = run_here("traces", "list", settings=settings, **environ)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("error: ")
    assert "\nnext:  " in done.stderr


@pytest.mark.parametrize("command", [["traces", "export"], ["traces", "list", "--limit", "1000"]])
def test_broken_pipe_exits_cleanly(settings: Settings, command: list[str]) -> None:
    store_apples(settings, 3_000)
    child = start_program(*command, environ=environment(settings), stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    with child:
        assert child.stdout.readline()
        child.stdout.close()
        errors = child.stderr.read()
    assert (child.returncode, errors) == (0, "")


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_full_disk_on_stdout_is_reported(settings: Settings, flags: list[str]) -> None:
    store_apples(settings, 3)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, "traces", "list", *flags],
            env=environment(settings),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert "The disk is full" in done.stderr
    assert "Free space" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_unwritable_stderr_does_not_stop_import(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "gsm8k.jsonl"
    file.write_text(
        json.dumps({"question": "2 + 3?", "answer": "2 + 3 = <<2+3=5>>5\n#### 5"}), encoding="utf-8"
    )
    command = ["traces", "import", str(file)]
    assert "annotations" in run_here(*command, settings=settings).stderr
    read_end, write_end = os.pipe()
    os.close(read_end)
    with Path("/dev/full").open("w") as full, os.fdopen(write_end, "w") as closed_pipe:
        for log in (full, closed_pipe):
            done = subprocess.run(
                [*PROGRAM, *command],
                env=environment(settings),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                timeout=60,
            )
            assert done.returncode == 0
            assert "Already stored: 1" in done.stdout


def test_ctrl_c_keeps_committed_rows(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "apples.jsonl"
    file.write_text("\n".join(apple_lines(150_000)), encoding="utf-8")
    store = open_home(settings)
    child = start_program("traces", "import", file, "--skip-invalid", environ=environment(settings))
    with child:
        while (
            child.poll() is None
            and not TraceRepository(store.database).list(TraceFilter(), limit=1, offset=0).total
        ):
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        assert child.stderr is not None
        errors = child.stderr.read()
    assert child.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    num_kept = TraceRepository(store.database).list(TraceFilter(), limit=1, offset=0).total
    assert 0 < num_kept < 150_000
    store.close()


def test_piped_output_has_no_colour(settings: Settings, file: Path) -> None:
    done = run_program("traces", "lint", file, settings=settings, TERM="xterm-256color")
    assert "\x1b" not in done.stdout + done.stderr


def test_no_color_disables_terminal_colours(settings: Settings) -> None:
    for environ, is_coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        primary, secondary = os.openpty()
        with subprocess.Popen(
            [*PROGRAM, "traces", "show", "01234567-89ab-8def-8123-456789abcdef"],
            env=environment(settings, TERM="xterm-256color", **environ),
            stderr=secondary,
        ) as child:
            child.wait(timeout=60)
        os.close(secondary)
        output = os.read(primary, 65536).decode()
        os.close(primary)
        assert "There is no trace" in output
        assert ("\x1b[1;31m" in output) == is_coloured


def test_version_flag_prints_version() -> None:
    assert run_program("--version").stdout == f"tunix-rt {__version__}\n"
    installed = Path(sys.executable).with_name("tunix-rt")
    done = subprocess.run([installed, "--version"], capture_output=True, text=True)
    assert done.stdout == f"tunix-rt {__version__}\n"


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("tunix_rt.api.app", ACCELERATORS),
        ("tunix_rt.cli.main", [*ACCELERATORS, "sqlalchemy", "fastapi", "numpy", "pydantic", "tokenizers"]),
        (
            "tunix_rt.recipes.load, tunix_rt.base.settings",
            [*ACCELERATORS, "sqlalchemy", "fastapi", "numpy", "rich", "tokenizers"],
        ),
    ],
)
def test_imports_load_no_heavy_libraries(module: str, forbidden: list[str]) -> None:
    (modules,) = run_code(f"import sys, {module}; print(*sys.modules)")
    loaded = top_level(modules)
    assert module.partition(".")[0] in loaded
    assert loaded.isdisjoint(forbidden), loaded & set(forbidden)


def test_traces_list_loads_no_heavy_libraries(settings: Settings) -> None:
    store_apples(settings, 2)
    code = """
import sys
from tunix_rt.cli.main import main
sys.argv = ["tunix-rt", "traces", "list"]
try:
    main()
finally:
    print(*sys.modules)
"""
    loaded = set(run_code(code, settings)[-1].split())
    assert {"sqlalchemy", "tunix_rt.traces.store"} <= loaded
    heavy = {*ACCELERATORS, "alembic", "fastapi", "huggingface_hub", "jinja2", "numpy", "psycopg", "pyarrow"}
    heavy |= {"pydantic_settings", "rich.progress", "sqlalchemy.dialects.postgresql", "tokenizers", "yaml"}
    heavy |= {"tunix_rt.problems", "tunix_rt.traces.importer", "tunix_rt.traces.linter.linter"}
    assert loaded.isdisjoint(heavy), loaded & heavy


def test_error_file_receives_the_error(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "error.json"
    done = run_program(
        "traces", "list", "--code", "nothing", settings=settings, TUNIX_RT_ERROR_FILE=str(path)
    )
    error = json.loads(path.read_text(encoding="utf-8"))
    assert (error["code"], error["exit_code"]) == ("invalid-input", done.returncode)
    assert f"error: {error['detail']}\nnext:  {error['next_step']}\n" == done.stderr
    assert [entry.name for entry in tmp_path.glob("*error*")] == ["error.json"]


def test_all_commands_load_no_heavy_libraries() -> None:
    """The commands also match the names and summaries of the lazy command tree."""
    code = """
import sys
from tunix_rt.cli.main import COMMANDS, SUMMARIES, LazyCommands
commands = dict(LazyCommands(COMMANDS).items())
for name, command in commands.items():
    assert command.help.startswith(SUMMARIES[name]), name
    if isinstance(COMMANDS[name], dict):
        assert [one.name for one in command.commands.values()] == [*COMMANDS[name]]
assert [command.name for command in commands.values()] == [*COMMANDS] == [*SUMMARIES]
print(*sys.modules)
"""
    (modules,) = run_code(code)
    loaded = top_level(modules)
    assert "sqlalchemy" in loaded
    heavy = {*ACCELERATORS, "fastapi", "alembic", "reasoning_gym", "pyarrow", "optuna", "ray"}
    assert loaded.isdisjoint(heavy), loaded & heavy


def test_invalid_eval_arguments_load_no_engine(tmp_path: Path) -> None:
    code = """
import sys
from typer.testing import CliRunner
from tunix_rt.cli.main import app
for engine in ("jax", "torch"):
    for model, evalset in (("tiny-llama", "nothing.jsonl"), ("owner/nothing:x", "eval_v2")):
        result = CliRunner().invoke(app, ["eval", model, "--eval-set", evalset, "--engine", engine])
        print(type(result.exception).__name__, repr(str(result.exception)))
print(*sys.modules)
"""
    *refusals, modules = run_code(code, Settings(home=tmp_path))
    assert ["nothing" in line and "Error" in line for line in refusals] == [True] * 4, refusals
    loaded = top_level(modules)
    assert loaded.isdisjoint(ACCELERATORS), loaded & set(ACCELERATORS)
