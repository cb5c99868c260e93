"""A run says which code it ran, whether that came from a checkout, a wheel or a changed tree."""

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


def package(directory: Path, **files: str) -> Path:
    directory.mkdir()
    for name, text in files.items():
        (directory / f"{name}.py").write_text(text)
    return directory


def test_the_hash_of_the_code_follows_its_files_and_not_their_place(tmp_path: Path) -> None:
    one = package(tmp_path / "one", a="x = 1", b="y = 2")
    same = package(tmp_path / "same", a="x = 1", b="y = 2")
    moved = package(tmp_path / "moved", a="y = 2", b="x = 1")

    assert code_sha256(one) == code_sha256(same)
    assert code_sha256(one) != code_sha256(moved)


def test_a_changed_tree_brings_its_changes_new_files_included(tmp_path: Path) -> None:
    checkout = package(tmp_path / "checkout", old="x = 1\n")
    someone = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "-q"), ("add", "."), (*someone, "commit", "-qm", "first")):
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


def test_code_outside_a_checkout_has_no_commit_and_no_diff(tmp_path: Path) -> None:
    assert commit(tmp_path) is None
    assert code_diff(tmp_path) is None


def test_the_lock_names_every_installed_package() -> None:
    assert {"numpy", "pydantic", "tunix-rt"} <= installed_packages().keys()
