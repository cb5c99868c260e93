"""The code revision that a run records: hash, commit, diff and installed packages."""

from pathlib import Path

from tunix_rt.base.logs import HIDDEN
from tunix_rt.engines.training.environment import (
    code_diff,
    code_sha256,
    commit,
    git,
    has_changes,
    installed_packages,
)


def write_package(directory: Path, **files: str) -> Path:
    directory.mkdir()
    for name, text in files.items():
        (directory / f"{name}.py").write_text(text)
    return directory


def test_code_hash_ignores_location(tmp_path: Path) -> None:
    one = write_package(tmp_path / "one", a="x = 1", b="y = 2")
    same = write_package(tmp_path / "same", a="x = 1", b="y = 2")
    swapped = write_package(tmp_path / "swapped", a="y = 2", b="x = 1")

    assert code_sha256(one) == code_sha256(same)
    assert code_sha256(one) != code_sha256(swapped)


def test_diff_includes_untracked_files(tmp_path: Path) -> None:
    """Secrets are redacted, and the git index stays unchanged."""
    checkout = write_package(tmp_path / "checkout", old="x = 1\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "first")):
        assert git(checkout, *arguments) is not None
    assert code_diff(checkout) == ""
    assert not has_changes(checkout)

    (checkout / "old.py").write_text("x = 2\n")
    (checkout / "new.py").write_text('token = "hf_abcdefghijklmnopqrst"\n')  # pragma: allowlist secret

    diff = code_diff(checkout)
    assert diff is not None
    assert "-x = 1\n+x = 2\n" in diff
    assert f'+token = "{HIDDEN}"\n' in diff
    assert git(checkout, "status", "--porcelain") == " M old.py\n?? new.py\n"


def test_no_checkout_means_no_revision(tmp_path: Path) -> None:
    assert commit(tmp_path) is None
    assert code_diff(tmp_path) is None


def test_installed_packages_are_listed() -> None:
    assert {"numpy", "pydantic", "tunix-rt"} <= installed_packages().keys()
