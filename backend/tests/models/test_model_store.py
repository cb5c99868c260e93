"""The model store deduplicates files and verifies them when they are read."""

import os
from pathlib import Path

import pytest
from support.small_disk import small_disk_in

from tunix_rt.base.errors import DataError, InvalidInputError, StorageError
from tunix_rt.models.files import ModelStore, remove_garbage


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models")


def write_files(path: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content)
    return path


def add_model(store: ModelStore, directory: Path) -> str:
    with store.shared_lock():
        return store.add(directory).content_hash


def test_checkout_contains_added_files(store: ModelStore, tmp_path: Path) -> None:
    files = {
        "config.json": "{}",
        "model.safetensors": "weights",
        "onnx/model.bin": "more",
        ".lock": "not this",
    }
    checkout = store.checkout(add_model(store, write_files(tmp_path / "m", files)))
    found = {
        path.relative_to(checkout).as_posix(): path.read_text()
        for path in checkout.rglob("*")
        if path.is_file()
    }
    assert found == {name: text for name, text in files.items() if name != ".lock"}


def test_equal_files_are_stored_once(store: ModelStore, tmp_path: Path) -> None:
    first = add_model(store, write_files(tmp_path / "a", {"config.json": "{}", "model.safetensors": "same"}))
    second = add_model(
        store, write_files(tmp_path / "b", {"config.json": "{1}", "model.safetensors": "same"})
    )
    assert first != second
    assert len(list(store.blobs.glob("*/*"))) == 3
    assert add_model(store, tmp_path / "a") == first
    assert os.path.samefile(
        store.checkout(first) / "model.safetensors", store.checkout(second) / "model.safetensors"
    )


def test_store_copies_added_files(store: ModelStore, tmp_path: Path) -> None:
    content_hash = add_model(store, write_files(tmp_path / "m", {"weights": "before"}))
    (tmp_path / "m" / "weights").write_text("after!")
    assert (store.checkout(content_hash) / "weights").read_text() == "before"


def overwrite(path: Path, content: str) -> None:
    path.chmod(0o644)
    path.write_text(content)


def test_damaged_file_is_named(store: ModelStore, tmp_path: Path) -> None:
    content_hash = add_model(store, write_files(tmp_path / "m", {"config.json": "{}", "weights": "before"}))
    overwrite(store.checkout(content_hash) / "weights", "affer!")
    with pytest.raises(DataError, match=r"weights is not what was registered.*Register the same model again"):
        store.checkout(content_hash)
    assert store.problems(store.tree(content_hash)) == [
        "weights: is not what was registered: its hash differs"
    ]


def test_missing_blob_is_named(store: ModelStore, tmp_path: Path) -> None:
    content_hash = add_model(store, write_files(tmp_path / "m", {"weights": "before"}))
    store.blob(store.tree(content_hash).files[0].sha256).unlink()
    with pytest.raises(DataError, match=r"weights\) is missing"):
        store.checkout(content_hash)
    with pytest.raises(DataError, match="weights"):
        store.require_blobs(store.tree(content_hash))


def test_adding_again_repairs_damage(store: ModelStore, tmp_path: Path) -> None:
    content_hash = add_model(store, write_files(tmp_path / "m", {"weights": "before"}))
    overwrite(store.checkout(content_hash) / "weights", "affer!")
    assert add_model(store, tmp_path / "m") == content_hash
    assert (store.checkout(content_hash) / "weights").read_text() == "before"


def test_unexpected_checkout_file_is_rejected(store: ModelStore, tmp_path: Path) -> None:
    checkout = store.checkout(add_model(store, write_files(tmp_path / "m", {"weights": "before"})))
    (checkout / "model-2.safetensors").write_text("smuggled")
    with pytest.raises(DataError, match="does not belong to the model"):
        store.checkout(checkout.name)


def test_damaged_tree_is_rejected(store: ModelStore, tmp_path: Path) -> None:
    content_hash = add_model(store, write_files(tmp_path / "m", {"weights": "before"}))
    tree = store.trees / f"{content_hash}.json"
    tree.write_text(tree.read_text().replace("weights", "weightz"))
    with pytest.raises(DataError, match="is not what was registered"):
        store.tree(content_hash)


def test_empty_directory_is_rejected(store: ModelStore, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    with store.shared_lock(), pytest.raises(InvalidInputError, match="no files"):
        store.add(tmp_path / "m")


def test_garbage_collection_removes_unused_files(store: ModelStore, tmp_path: Path) -> None:
    kept = add_model(store, write_files(tmp_path / "a", {"shared": "same", "own": "a"}))
    gone = add_model(store, write_files(tmp_path / "b", {"shared": "same", "own": "bb"}))
    store.checkout(gone)
    (store.incoming / "left-by-a-killed-process").write_text("x")
    with store.exclusive_lock():
        removed = remove_garbage(store, {kept})
    assert (removed.num_blobs, removed.num_bytes) == (1, 2)
    assert (store.checkout(kept) / "shared").read_text() == "same"
    assert not list(store.incoming.iterdir())
    with pytest.raises(DataError, match="is missing"):
        store.checkout(gone)


def test_missing_tree_stops_garbage_collection(store: ModelStore, tmp_path: Path) -> None:
    kept = add_model(store, write_files(tmp_path / "a", {"own": "a"}))
    (store.trees / f"{kept}.json").unlink()
    with store.exclusive_lock(), pytest.raises(DataError, match="is missing"):
        remove_garbage(store, {kept})
    assert len(list(store.blobs.glob("*/*"))) == 1


def test_full_disk_leaves_no_partial_files(tmp_path: Path) -> None:
    with small_disk_in(tmp_path, megabytes=1) as disk:
        store = ModelStore(disk / "models")
        small = add_model(store, write_files(tmp_path / "small", {"weights": "before"}))
        large = write_files(tmp_path / "large", {"config.json": "{}", "weights": "w" * 3_000_000})
        with pytest.raises(StorageError, match=r"disk is full.*registering the model"):
            add_model(store, large)
        assert list(store.incoming.iterdir()) == []
        assert (store.checkout(small) / "weights").read_text() == "before"
        (large / "weights").write_text("less")
        assert (store.checkout(add_model(store, large)) / "weights").read_text() == "less"
