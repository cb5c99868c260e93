"""Secrets are redacted in logs, events, errors and run files."""

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

CANARY = "marked-0123456789"


class RecordingView:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def show_line(self, text: str) -> None:
        self.lines.append(text)

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        self.lines.append(str(progress))


def test_own_token_is_redacted() -> None:
    assert redacted(f"token {new_token()[0]}.") == "token ***."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"postgresql://me:{CANARY}@db/x failed", "postgresql://me:***@db/x failed"),
        (f"https://:{CANARY}@host and https://host:8000/a@b", "https://:***@host and https://host:8000/a@b"),
        (f"Authorization: Bearer {CANARY}", "Authorization: Bearer ***"),
        (f"authorization: basic {CANARY}==", "authorization: basic ***"),
        ("hf_" + "a1" * 12, "***"),
        ("sk-proj-" + "a1" * 12, "***"),
        ("step 3/4 | loss 0.5", "step 3/4 | loss 0.5"),
        ("the bearer of bad news", "the bearer of bad news"),
        ("a task-based hf_home", "a task-based hf_home"),
    ],
)
def test_secret_patterns_are_redacted(text: str, expected: str) -> None:
    assert redacted(text, []) == expected


def test_environment_secrets_are_redacted() -> None:
    environ = {
        "HF_TOKEN": "hugging-face",
        "KAGGLE_KEY": "hugging-face-and-more",
        "PGPASSWORD": "p@ss w0rd",  # pragma: allowlist secret
        "TUNIX_RT_DATABASE_URL": f"postgresql://me:{CANARY}@db/x",
        "TUNIX_RT_REQUIRE_TOKEN": "true",
        "HOME": "/home/somebody",
    }
    found = secret_values(environ)
    assert found == ["hugging-face-and-more", CANARY, "hugging-face", "p@ss w0rd"]
    assert redacted("hugging-face-and-more, p@ss w0rd, true, /home/somebody", found) == (
        "***, ***, true, /home/somebody"
    )


def test_run_files_contain_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", CANARY)
    monkeypatch.setenv("XLA_FLAGS", f"--dump_to=https://me:{CANARY}@host")
    view, run_dir = RecordingView(), RunDir(tmp_path / "run-1")
    run_dir.path.mkdir()
    records = RunRecords(run_dir, view)
    records.log(f"before: {CANARY}")
    records.begin(step=0)
    records.log(f"during: {CANARY}")
    records.event("warning", f"quoted: {CANARY}")
    records.write_json(
        "environment.json",
        run_environment("jax", device="cpu", devices=(), device_memory_bytes=None).to_json(),
    )
    records.close()
    run_text = "".join(path.read_text() for path in run_dir.path.iterdir())
    assert run_text.count("***") == 5
    assert "https://me:***@host" in run_text
    assert CANARY not in run_text + "".join(view.lines)


@pytest.mark.parametrize("as_json", [True, False])
def test_printed_error_hides_password(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    error = StorageError(f"postgresql://me:{CANARY}@db/x does not answer.", next_step="Start it.")
    print_error(error, as_json=as_json)
    printed = capsys.readouterr().err
    assert "postgresql://me:***@db/x does not answer." in printed


def test_traceback_hides_secrets(tmp_path: Path) -> None:
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
    environ = environment(Settings(home=tmp_path), HF_TOKEN=CANARY)
    result = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.endswith("RuntimeError: cannot log in with ***\n")
    assert CANARY not in json.dumps(result.stderr)
