"""The secret scan of `make check` and of the pre-commit hook fails on a planted secret."""

import subprocess
import sys
from pathlib import Path

import pytest
from supply_chain.locked import ROOT

HOOK = [str(Path(sys.executable).parent / "detect-secrets-hook"), "--baseline", ".secrets.baseline"]
# Concatenated here, because the scan reads this file too.
PLANTED = {
    "a GitHub token": "token = ghp_" + "aB3" * 12,
    "a private key": "-----BEGIN RSA PRIVATE " + "KEY-----",
    "a password in an address": "postgresql://admin:" + "hunter2" + "@db.example.com/runs",
}


def scan(file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*HOOK, str(file)], cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("secret", PLANTED)
def test_planted_secret_fails_the_scan(secret: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.py"
    file.write_text(f"# {PLANTED[secret]}\n")
    done = scan(file)
    assert done.returncode == 1, done.stderr
    assert "settings.py:1" in done.stdout


def test_clean_file_passes_the_scan(tmp_path: Path) -> None:
    file = tmp_path / "settings.py"
    file.write_text("answer = 42\n")
    assert scan(file).returncode == 0


def test_check_and_commits_run_the_scan() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "git ls-files -z | xargs -0 $(BIN)/detect-secrets-hook --baseline .secrets.baseline" in makefile
    assert "check-leaks" in makefile.partition("\ncheck:")[2].partition("\n\n")[0]
    assert "detect-secrets-hook --baseline" in (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
