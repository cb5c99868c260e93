"""Verifying an invalid bundle names the problem and writes no files."""

import json
import os
import shutil
import stat
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.evidence_runs import packed, reseal

from tunix_rt.base.errors import NotFoundError
from tunix_rt.evidence.files import BundleWriter, bundle_entries
from tunix_rt.evidence.reader import MAX_LINE_BYTES
from tunix_rt.evidence.types import EvidenceManifest, EvidenceVerdict
from tunix_rt.evidence.verify import verify_evidence

MIB = 1 << 20


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("evidence")
    return packed(root / "home", root / "bundle")


@pytest.fixture
def bundle(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "bundle"))


def first_problem(verdict: EvidenceVerdict) -> str:
    assert not verdict.passed
    return verdict.problems[0].detail


def truncate_log(bundle: Path) -> None:
    os.truncate(bundle / "log.txt", 5)


def swap_files(bundle: Path) -> None:
    log, plan = bundle / "log.txt", bundle / "plan.json"
    log_bytes, plan_bytes = log.read_bytes(), plan.read_bytes()
    log.write_bytes(plan_bytes)
    plan.write_bytes(log_bytes)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda bundle: (bundle / "log.txt").unlink(), "log.txt is missing"),
    "extra": (lambda bundle: (bundle / "notes.txt").write_text("hello"), "notes.txt is not listed"),
    "renamed": (
        lambda bundle: (bundle / "log.txt").rename(bundle / "log.old"),
        "log.old is not listed; it has the bytes of log.txt",
    ),
    "truncated": (truncate_log, "log.txt is truncated: 5 of "),
    "longer": (lambda bundle: (bundle / "log.txt").write_bytes(bytes(999)), "log.txt has 999 bytes, not "),
    "swapped": (swap_files, "log.txt has the bytes of plan.json"),
    "link": (lambda bundle: (bundle / "more").symlink_to("/etc/passwd"), "more is a link"),
    "pipe": (lambda bundle: os.mkfifo(bundle / "pipe"), "pipe is not a regular file"),
    "no manifest": (lambda bundle: (bundle / "evidence.json").unlink(), "There is no evidence.json."),
    "no checksums": (lambda bundle: (bundle / "SHA256SUMS").unlink(), "SHA256SUMS is missing"),
    "empty manifest": (
        lambda bundle: (bundle / "evidence.json").write_text("[]"),
        "The bundle has evidence version",
    ),
    "nested manifest": (
        lambda bundle: (bundle / "evidence.json").write_text("[" * 100_000),
        "evidence.json: ",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named(bundle: Path, damage: str) -> None:
    apply_damage, expected = DAMAGES[damage]
    apply_damage(bundle)

    assert first_problem(verify_evidence(bundle)).startswith(expected)


def test_newer_version_is_not_damage(bundle: Path) -> None:
    path = bundle / "evidence.json"
    newer = json.loads(path.read_bytes()) | {"evidence_version": "3", "tunix_rt_version": "9.0.0"}
    path.write_text(json.dumps(newer))

    problem = verify_evidence(bundle).problems[0]

    assert (
        problem.detail == "The bundle has evidence version '3'; this tunix-rt supports the versions '1', '2'."
    )
    assert problem.next_step == "Verify it with the tunix-rt that packed it (9.0.0) or a newer one."


def test_manifest_path_outside_is_rejected(bundle: Path) -> None:
    path = bundle / "evidence.json"
    path.write_text(path.read_text().replace('"path": "log.txt"', '"path": "../log.txt"'))

    assert "is not a path inside a directory" in first_problem(verify_evidence(bundle))


def test_missing_bundle_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="There is no bundle"):
        verify_evidence(tmp_path / "nothing")


def zip_bundle(bundle: Path, *more: tuple[zipfile.ZipInfo, bytes], folder: str = "") -> Path:
    path = bundle.with_name("bundle.zip")
    with zipfile.ZipFile(path, "w") as archive:
        for name, pieces in bundle_entries(bundle):
            archive.writestr(folder + name, b"".join(pieces))
        for info, content in more:
            archive.writestr(info, content)
    return path


def link_entry() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("more")
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (zipfile.ZipInfo("../outside.txt"), "the entry '../outside.txt' leads out of the bundle"),
        (zipfile.ZipInfo("/outside.txt"), "the entry '/outside.txt' is an absolute path"),
        (zipfile.ZipInfo("C:/outside.txt"), "the entry 'C:/outside.txt' is an absolute path"),
        (zipfile.ZipInfo("a\\..\\outside.txt"), "the entry 'a\\\\..\\\\outside.txt' is an absolute path"),
        (link_entry(), "the entry 'more' is a link or a device"),
    ],
    ids=["parent", "absolute", "drive", "backslash", "link"],
)
def test_unsafe_zip_entries_are_rejected(bundle: Path, entry: zipfile.ZipInfo, expected: str) -> None:
    path = zip_bundle(bundle, (entry, b"/etc/passwd"))
    before = sorted(bundle.parent.parent.rglob("*"))

    verdict = verify_evidence(path)

    assert first_problem(verdict).startswith(expected)
    assert sorted(bundle.parent.parent.rglob("*")) == before


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_zip_entries_are_rejected(bundle: Path) -> None:
    path = zip_bundle(bundle, (zipfile.ZipInfo("log.txt"), b"another log"))

    assert first_problem(verify_evidence(path)) == "the entry 'log.txt' is duplicated"


def test_zipped_folder_verifies(bundle: Path) -> None:
    assert verify_evidence(zip_bundle(bundle, folder="run-1/")).passed


def test_zip_bomb_is_rejected_unread(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("evidence.json", bytes(64 * MIB))
    content = bytearray(path.read_bytes())
    offset = content.rindex(b"PK\x01\x02") + 24  # uncompressed size in the central directory
    content[offset : offset + 4] = (4_000 * MIB).to_bytes(4, "little")
    path.write_bytes(content)

    assert first_problem(verify_evidence(path)).endswith("it is a zip bomb")


def test_invalid_zip_gets_verdict(tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(b"PK not really")

    assert first_problem(verify_evidence(tmp_path / "bundle.zip")).startswith("bundle.zip is not a zip file")


def add_listed_file(bundle: Path, path: str, size_bytes: int) -> None:
    """Add a large sparse file and list it in the manifest."""
    with (bundle / path).open("wb") as file:
        file.truncate(size_bytes)
    old = EvidenceManifest.model_validate_json((bundle / "evidence.json").read_bytes())
    log = next(file for file in old.files if file.path == "log.txt")
    added = log.model_copy(update={"path": path, "size_bytes": size_bytes, "sha256": "0" * 64})
    files = tuple(sorted([*old.files, added], key=lambda file: file.path))
    BundleWriter(bundle).finish(old.model_copy(update={"files": files}).sealed())


def verify_with_peak_memory(bundle: Path) -> tuple[EvidenceVerdict, int]:
    tracemalloc.start()
    try:
        verdict = verify_evidence(bundle)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return verdict, peak_bytes


def test_memory_is_independent_of_size(bundle: Path) -> None:
    (bundle / "model").mkdir()
    add_listed_file(bundle, "model/model.safetensors", 96 * MIB)

    verdict, peak_bytes = verify_with_peak_memory(bundle)

    assert first_problem(verdict) == "model/model.safetensors was changed: its SHA-256 differs"
    assert peak_bytes < 16 * MIB


def test_endless_line_is_not_buffered(bundle: Path) -> None:
    path = bundle / "predictions.jsonl"
    with path.open("ab") as file:
        file.truncate(MAX_LINE_BYTES + 2 * MIB)
    reseal(bundle)

    verdict, peak_bytes = verify_with_peak_memory(bundle)

    expected = "predictions.jsonl cannot be read: a line is longer than"
    assert any(expected in problem.detail for problem in verdict.problems)
    assert peak_bytes < 4 * MAX_LINE_BYTES


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("./", None),
        ("", "the entry '' has no name"),
        ("a:b", "a:b is not listed"),
        ("C:/b", "the entry 'C:/b' is an absolute path or a path of another system"),
    ],
)
def test_odd_entry_names_are_reported(original: Path, tmp_path: Path, name: str, problem: str | None) -> None:
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(original.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(original).as_posix())
        entry = zipfile.ZipInfo("placeholder")
        entry.filename = name
        archive.writestr(entry, b"")

    verdict = verify_evidence(path)

    assert [found.detail for found in verdict.problems][:1] == ([] if problem is None else [problem])
