"""Dataset files on disk: links, damage, a full disk, killed and concurrent builds."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.builders import make_trace
from support.datasets import build, stored, sums

from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, NotFoundError, TunixRTError
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.files import dataset_keys, iter_lines, read_manifest
from tunix_rt.datasets.service import delete_dataset, list_datasets, read_rows, verify_dataset

TESTS = Path(__file__).parents[1]


def problems(home: Path) -> str:
    verdict = verify_dataset(home / "datasets", "demo-v1")
    assert verdict.intact == (not verdict.problems)
    return "; ".join(verdict.problems)


def test_fresh_dataset_is_intact(tmp_path: Path) -> None:
    build(tmp_path, sums(20), splits={"train": 0.5, "validation": 0.5})
    assert problems(tmp_path) == ""


@pytest.mark.parametrize("name", ["train.jsonl", "README.md"])
def test_changed_file_is_detected(tmp_path: Path, name: str) -> None:
    build(tmp_path, sums(20))
    with (tmp_path / "datasets/demo-v1" / name).open("ab") as file:
        file.write(b"\n")
    assert f"{name} is not the file that was built" in problems(tmp_path)


def test_missing_file_is_detected(tmp_path: Path) -> None:
    build(tmp_path, sums(20))
    (tmp_path / "datasets/demo-v1/train.jsonl").unlink()
    assert "demo-v1/train.jsonl is missing" in problems(tmp_path)


def test_changed_content_hash_is_detected(tmp_path: Path) -> None:
    outcome = build(tmp_path, sums(20))
    manifest = tmp_path / "datasets/demo-v1/manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace(outcome.manifest.content_hash, "0" * 64), encoding="utf-8")
    assert "the content hash does not follow" in problems(tmp_path)


def test_damaged_manifest_is_refused(tmp_path: Path) -> None:
    build(tmp_path, sums(20))
    (tmp_path / "datasets/demo-v1/manifest.json").write_text("{}")
    with pytest.raises(DataError, match="damaged"):
        read_manifest(tmp_path / "datasets", "demo-v1")


def test_list_reports_damaged_datasets(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    build(tmp_path, sums(4), dataset_version="v2")
    (tmp_path / "datasets/demo-v1/manifest.json").write_text("{}")
    page = list_datasets(tmp_path / "datasets", limit=10, offset=0)
    assert [summary.dataset_key for summary in page.data] == ["demo-v2"]
    assert page.damaged == ("demo-v1",)
    delete_dataset(Settings(home=tmp_path), "demo-v1")
    assert dataset_keys(tmp_path / "datasets") == ["demo-v2"]


def test_list_filters_by_key(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    build(tmp_path, sums(3), dataset_version="v2")
    page = list_datasets(tmp_path / "datasets", limit=10, offset=0, text="O-V2")
    assert [summary.dataset_key for summary in page.data] == ["demo-v2"]
    assert page.pagination.total == 1


def test_copied_directory_is_refused(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    shutil.copytree(tmp_path / "datasets/demo-v1", tmp_path / "datasets/other-v1")
    with pytest.raises(DataError, match="belongs to 'demo-v1'"):
        read_manifest(tmp_path / "datasets", "other-v1")


def test_foreign_directory_is_not_deleted(tmp_path: Path) -> None:
    foreign = tmp_path / "datasets" / "mine"
    foreign.mkdir(parents=True)
    with pytest.raises(NotFoundError):
        delete_dataset(Settings(home=tmp_path), "mine")
    assert foreign.is_dir()


def test_linked_dataset_is_refused(tmp_path: Path) -> None:
    build(tmp_path / "elsewhere", sums(3))
    datasets_dir = tmp_path / "datasets"
    datasets_dir.mkdir()
    (datasets_dir / "demo-v1").symlink_to(tmp_path / "elsewhere/datasets/demo-v1")
    assert dataset_keys(datasets_dir) == []
    with pytest.raises(DataError, match="link"):
        read_manifest(datasets_dir, "demo-v1")
    with pytest.raises(DataError, match="link"):
        build(tmp_path, sums(3))
    with pytest.raises(DataError, match="link"):
        delete_dataset(Settings(home=tmp_path), "demo-v1")
    assert (tmp_path / "elsewhere/datasets/demo-v1/manifest.json").is_file()


def test_linked_split_is_refused(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    secret = tmp_path / "secret"
    secret.write_text("do not show\n")
    rows = tmp_path / "datasets/demo-v1/train.jsonl"
    rows.unlink()
    rows.symlink_to(secret)
    with pytest.raises(DataError, match="link"):
        list(iter_lines(tmp_path / "datasets", "demo-v1", "train"))


@pytest.mark.parametrize("key", ["../demo-v1", "/etc", "demo-v1/../demo-v1", "..", ""])
def test_path_traversal_in_key_is_refused(tmp_path: Path, key: str) -> None:
    build(tmp_path, sums(3))
    for use in (
        lambda: read_manifest(tmp_path / "datasets", key),
        lambda: delete_dataset(Settings(home=tmp_path), key),
        lambda: read_rows(tmp_path / "datasets", key, split=None, limit=1, offset=0),
    ):
        with pytest.raises(InvalidInputError):
            use()


def test_delete_frees_key(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    delete_dataset(Settings(home=tmp_path), "demo-v1")
    assert dataset_keys(tmp_path / "datasets") == []
    assert build(tmp_path, sums(4)).status == "created"


def test_deleting_missing_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        delete_dataset(Settings(home=tmp_path), "demo-v1")


def test_dataset_in_use_is_not_deleted(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    run = tmp_path / "runs" / "run-7"
    run.mkdir(parents=True)
    (run / "recipe.resolved.json").write_text('{"data": {"dataset": "demo-v1"}}')
    with pytest.raises(ConflictError, match="run-7"):
        delete_dataset(Settings(home=tmp_path), "demo-v1")
    assert dataset_keys(tmp_path / "datasets") == ["demo-v1"]


def test_foreign_directory_blocks_build(tmp_path: Path) -> None:
    foreign = tmp_path / "datasets" / "demo-v1"
    foreign.mkdir(parents=True)
    (foreign / "notes.txt").write_text("mine")
    with pytest.raises(ConflictError):
        build(tmp_path, sums(3))
    assert (foreign / "notes.txt").read_text() == "mine"


def start_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a child process that can import the test builders."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


BUILD_UNTIL_KILLED = """
    import sys, time
    from pathlib import Path
    from support.datasets import build, sums

    def rows():
        yield from sums(50)
        print("halfway", flush=True)
        time.sleep(60)

    build(Path(sys.argv[1]), rows(), dataset_name="killed")
"""


def test_next_build_removes_killed_build(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    with start_python(BUILD_UNTIL_KILLED, str(tmp_path)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "halfway\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
    datasets_dir = tmp_path / "datasets"
    assert dataset_keys(datasets_dir) == ["demo-v1"]
    assert list(datasets_dir.glob(".building-*"))
    assert build(tmp_path, sums(3)).status == "unchanged"
    assert not list(datasets_dir.glob(".building-*"))


def test_running_build_survives_other_builds(tmp_path: Path) -> None:
    with start_python(BUILD_UNTIL_KILLED, str(tmp_path)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "halfway\n"
        build(tmp_path, sums(3))
        kept = list((tmp_path / "datasets").glob(".building-killed-*"))
        child.kill()
        child.wait()
    assert len(kept) == 1


BUILD_ON_A_FULL_DISK = """
    import resource, signal, sys
    from pathlib import Path
    from support.datasets import build, sums
    from tunix_rt.base.errors import StorageError

    rows = sums(3000)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
    try:
        build(Path(sys.argv[1]), rows, dataset_name="full")
    except StorageError as error:
        print(error)
"""


@pytest.mark.parametrize("max_file_bytes", [1_000, 100_000, 400_000])
def test_full_disk_leaves_no_dataset(tmp_path: Path, max_file_bytes: int) -> None:
    build(tmp_path, sums(3))
    with start_python(BUILD_ON_A_FULL_DISK, str(tmp_path), str(max_file_bytes)) as child:
        output, errors = child.communicate(timeout=60)
    assert "disk is full" in output
    assert "TUNIX_RT_HOME" in output
    assert errors == ""
    assert {path.name for path in (tmp_path / "datasets").iterdir()} == {"demo-v1", ".build.lock"}
    assert problems(tmp_path) == ""


def test_concurrent_builds_make_one_dataset(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from support.datasets import build, sums
        print(build(Path(sys.argv[1]), sums(200)).status)
    """
    children = [start_python(code, str(tmp_path)) for _ in range(3)]
    outputs = [child.communicate(timeout=60) for child in children]
    assert sorted(output for output, _ in outputs) == ["created\n", "unchanged\n", "unchanged\n"]
    assert problems(tmp_path) == ""


def test_rows_are_paged_in_order(tmp_path: Path) -> None:
    build(tmp_path, sums(10))
    pages = [
        read_rows(tmp_path / "datasets", "demo-v1", split="train", limit=4, offset=offset)
        for offset in (0, 4, 8, 12)
    ]
    assert [len(page.data) for page in pages] == [4, 4, 2, 0]
    assert [page.pagination.next_offset for page in pages] == [4, 8, None, None]
    ids = [row.trace_id for page in pages for row in page.data]
    assert ids == sorted(ids)


def test_unknown_split_lists_splits(tmp_path: Path) -> None:
    build(tmp_path, [stored(make_trace())])
    with pytest.raises(TunixRTError, match="Choose one of: train"):
        read_rows(tmp_path / "datasets", "demo-v1", split="test", limit=1, offset=0)


def test_unknown_key_suggests_closest(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as raised:
        read_manifest(tmp_path, "demo-aritmetic-v2")
    assert raised.value.next_step.startswith("Did you mean 'demo-arithmetic-v2'?")
