"""The disk under a dataset: links, damage, a full disk, a killed builder."""

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


def test_a_fresh_dataset_is_intact(tmp_path: Path) -> None:
    build(tmp_path, sums(20), splits={"train": 0.5, "validation": 0.5})
    assert problems(tmp_path) == ""


@pytest.mark.parametrize("name", ["train.jsonl", "README.md"])
def test_a_changed_file_is_found(tmp_path: Path, name: str) -> None:
    build(tmp_path, sums(20))
    with (tmp_path / "datasets/demo-v1" / name).open("ab") as file:
        file.write(b"\n")
    assert f"{name} is not the file that was built" in problems(tmp_path)


def test_a_missing_file_is_found(tmp_path: Path) -> None:
    build(tmp_path, sums(20))
    (tmp_path / "datasets/demo-v1/train.jsonl").unlink()
    assert "demo-v1/train.jsonl is missing" in problems(tmp_path)


def test_a_changed_hash_in_the_manifest_is_found(tmp_path: Path) -> None:
    outcome = build(tmp_path, sums(20))
    manifest = tmp_path / "datasets/demo-v1/manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace(outcome.manifest.content_hash, "0" * 64), encoding="utf-8")
    assert "the content hash does not follow" in problems(tmp_path)


def test_a_damaged_manifest_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    build(tmp_path, sums(20))
    (tmp_path / "datasets/demo-v1/manifest.json").write_text("{}")
    with pytest.raises(DataError, match="damaged"):
        read_manifest(tmp_path / "datasets", "demo-v1")


def test_a_damaged_dataset_does_not_hide_the_others(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    build(tmp_path, sums(4), dataset_version="v2")
    (tmp_path / "datasets/demo-v1/manifest.json").write_text("{}")
    page = list_datasets(tmp_path / "datasets", limit=10, offset=0)
    assert [summary.dataset_key for summary in page.data] == ["demo-v2"]
    assert page.damaged == ("demo-v1",)
    delete_dataset(Settings(home=tmp_path), "demo-v1")
    assert dataset_keys(tmp_path / "datasets") == ["demo-v2"]


def test_datasets_are_found_by_a_part_of_their_key(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    build(tmp_path, sums(3), dataset_version="v2")
    page = list_datasets(tmp_path / "datasets", limit=10, offset=0, text="O-V2")
    assert [summary.dataset_key for summary in page.data] == ["demo-v2"]
    assert page.pagination.total == 1


def test_a_copied_directory_does_not_pass_for_another_dataset(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    shutil.copytree(tmp_path / "datasets/demo-v1", tmp_path / "datasets/other-v1")
    with pytest.raises(DataError, match="belongs to 'demo-v1'"):
        read_manifest(tmp_path / "datasets", "other-v1")


def test_a_foreign_directory_is_not_deleted(tmp_path: Path) -> None:
    foreign = tmp_path / "datasets" / "mine"
    foreign.mkdir(parents=True)
    with pytest.raises(NotFoundError):
        delete_dataset(Settings(home=tmp_path), "mine")
    assert foreign.is_dir()


def test_a_dataset_that_is_a_link_is_refused(tmp_path: Path) -> None:
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


def test_a_split_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    secret = tmp_path / "secret"
    secret.write_text("do not show\n")
    rows = tmp_path / "datasets/demo-v1/train.jsonl"
    rows.unlink()
    rows.symlink_to(secret)
    with pytest.raises(DataError, match="link"):
        list(iter_lines(tmp_path / "datasets", "demo-v1", "train"))


@pytest.mark.parametrize("key", ["../demo-v1", "/etc", "demo-v1/../demo-v1", "..", ""])
def test_path_tricks_in_a_key_are_refused(tmp_path: Path, key: str) -> None:
    build(tmp_path, sums(3))
    for use in (
        lambda: read_manifest(tmp_path / "datasets", key),
        lambda: delete_dataset(Settings(home=tmp_path), key),
        lambda: read_rows(tmp_path / "datasets", key, split=None, limit=1, offset=0),
    ):
        with pytest.raises(InvalidInputError):
            use()


def test_a_deleted_dataset_is_gone_and_its_key_free(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    delete_dataset(Settings(home=tmp_path), "demo-v1")
    assert dataset_keys(tmp_path / "datasets") == []
    assert build(tmp_path, sums(4)).status == "created"


def test_deleting_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        delete_dataset(Settings(home=tmp_path), "demo-v1")


def test_a_dataset_that_a_run_uses_is_not_deleted(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    run = tmp_path / "runs" / "run-7"
    run.mkdir(parents=True)
    (run / "recipe.resolved.json").write_text('{"data": {"dataset": "demo-v1"}}')
    with pytest.raises(ConflictError, match="run-7"):
        delete_dataset(Settings(home=tmp_path), "demo-v1")
    assert dataset_keys(tmp_path / "datasets") == ["demo-v1"]


def test_a_foreign_directory_under_the_key_is_a_conflict_and_stays(tmp_path: Path) -> None:
    foreign = tmp_path / "datasets" / "demo-v1"
    foreign.mkdir(parents=True)
    (foreign / "notes.txt").write_text("mine")
    with pytest.raises(ConflictError):
        build(tmp_path, sums(3))
    assert (foreign / "notes.txt").read_text() == "mine"


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A child process with the test builders on its path."""
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
        print("half way", flush=True)
        time.sleep(60)

    build(Path(sys.argv[1]), rows(), dataset_name="killed")
"""


def test_a_killed_build_leaves_no_dataset_and_the_next_build_cleans_up(tmp_path: Path) -> None:
    build(tmp_path, sums(3))
    with python(BUILD_UNTIL_KILLED, str(tmp_path)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "half way\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
    datasets_dir = tmp_path / "datasets"
    assert dataset_keys(datasets_dir) == ["demo-v1"]
    assert list(datasets_dir.glob(".building-*"))
    assert build(tmp_path, sums(3)).status == "unchanged"
    assert not list(datasets_dir.glob(".building-*"))


def test_a_living_build_keeps_its_directory_while_others_build(tmp_path: Path) -> None:
    with python(BUILD_UNTIL_KILLED, str(tmp_path)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "half way\n"
        build(tmp_path, sums(3))
        alive = list((tmp_path / "datasets").glob(".building-killed-*"))
        child.kill()
        child.wait()
    assert len(alive) == 1


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
def test_a_full_disk_is_an_error_with_a_next_step_and_leaves_nothing(
    tmp_path: Path, max_file_bytes: int
) -> None:
    build(tmp_path, sums(3))
    with python(BUILD_ON_A_FULL_DISK, str(tmp_path), str(max_file_bytes)) as child:
        output, errors = child.communicate(timeout=60)
    assert "disk is full" in output
    assert "TUNIX_RT_HOME" in output
    assert errors == ""
    assert {path.name for path in (tmp_path / "datasets").iterdir()} == {"demo-v1", ".build.lock"}
    assert problems(tmp_path) == ""


def test_two_builders_of_one_key_make_one_dataset(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from support.datasets import build, sums
        print(build(Path(sys.argv[1]), sums(200)).status)
    """
    children = [python(code, str(tmp_path)) for _ in range(3)]
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


def test_an_unknown_split_is_an_error_that_names_the_splits(tmp_path: Path) -> None:
    build(tmp_path, [stored(make_trace())])
    with pytest.raises(TunixRTError, match="Choose one of: train"):
        read_rows(tmp_path / "datasets", "demo-v1", split="test", limit=1, offset=0)
