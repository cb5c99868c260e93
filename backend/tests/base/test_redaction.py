"""What opens doors is written nowhere: not in logs, events, failures or evidence."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.children import environment

from tunix_rt.base.errors import StorageError
from tunix_rt.base.logs import redacted, secret_values
from tunix_rt.base.settings import Settings
from tunix_rt.base.terminal.output import print_error
from tunix_rt.engines.training.environment import run_environment
from tunix_rt.engines.training.records import Progress, RunRecords
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.system.types import new_token

MARKED = "marked-0123456789"


class Watcher:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def show_line(self, text: str) -> None:
        self.lines.append(text)

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        self.lines.append(str(progress))


def test_a_token_of_ours_is_known_by_its_shape() -> None:
    assert redacted(f"token {new_token()[0]}.") == "token ***."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"postgresql://me:{MARKED}@db/x failed", "postgresql://me:***@db/x failed"),
        (f"https://:{MARKED}@host and https://host:8000/a@b", "https://:***@host and https://host:8000/a@b"),
        (f"Authorization: Bearer {MARKED}", "Authorization: Bearer ***"),
        (f"authorization: basic {MARKED}==", "authorization: basic ***"),
        ("hf_" + "a1" * 12, "***"),
        ("sk-proj-" + "a1" * 12, "***"),
        ("step 3/4 | loss 0.5", "step 3/4 | loss 0.5"),
        ("the bearer of bad news", "the bearer of bad news"),
        ("a task-based hf_home", "a task-based hf_home"),
    ],
)
def test_secrets_are_known_by_their_shape(text: str, expected: str) -> None:
    assert redacted(text, []) == expected


def test_secrets_are_known_by_their_place_in_the_environment() -> None:
    environ = {
        "HF_TOKEN": "hugging-face",
        "KAGGLE_KEY": "hugging-face-and-more",
        "PGPASSWORD": "p@ss w0rd",  # pragma: allowlist secret
        "TUNIX_RT_DATABASE_URL": f"postgresql://me:{MARKED}@db/x",
        "TUNIX_RT_REQUIRE_TOKEN": "true",
        "HOME": "/home/somebody",
    }
    found = secret_values(environ)
    assert found == ["hugging-face-and-more", MARKED, "hugging-face", "p@ss w0rd"]
    assert redacted("hugging-face-and-more, p@ss w0rd, true, /home/somebody", found) == (
        "***, ***, true, /home/somebody"
    )


def test_a_run_writes_no_secret_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", MARKED)
    monkeypatch.setenv("XLA_FLAGS", f"--dump_to=https://me:{MARKED}@host")
    view, run_dir = Watcher(), RunDir(tmp_path / "run-1")
    run_dir.path.mkdir()
    records = RunRecords(run_dir, view)
    records.log(f"before: {MARKED}")
    records.begin(step=0)
    records.log(f"during: {MARKED}")
    records.event("warning", f"quoted: {MARKED}")
    records.write_json(
        "environment.json",
        run_environment("jax", device="cpu", devices=(), device_memory_bytes=None).to_json(),
    )
    records.close()
    written = "".join(path.read_text() for path in run_dir.path.iterdir())
    assert written.count("***") == 5
    assert "https://me:***@host" in written
    assert MARKED not in written + "".join(view.lines)


@pytest.mark.parametrize("as_json", [True, False])
def test_an_error_is_printed_without_the_password_that_it_quotes(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    error = StorageError(f"postgresql://me:{MARKED}@db/x does not answer.", next_step="Start it.")
    print_error(error, as_json=as_json)
    printed = capsys.readouterr().err
    assert "postgresql://me:***@db/x does not answer." in printed


def test_a_bug_keeps_its_traceback_and_loses_its_secrets(tmp_path: Path) -> None:
    program = """
import os, sys
from tunix_rt.cli import main
from tunix_rt.engines import commands
def fail() -> None:
    raise RuntimeError("cannot log in with " + os.environ["HF_TOKEN"])
commands.plan = fail
sys.argv = ["tunix-rt", "plan"]
main.main()
"""
    environ = environment(Settings(home=tmp_path), HF_TOKEN=MARKED)
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.endswith("RuntimeError: cannot log in with ***\n")
    assert MARKED not in json.dumps(done.stderr)
