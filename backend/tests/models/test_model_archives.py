"""Streaming a version as one zip file."""

import io
import zipfile
from pathlib import Path

import pytest
from support.models import plain_model, registered, sqlite_home

from tunix_rt.base.errors import DataError
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.models.export import zip_chunks
from tunix_rt.models.files import ModelStore
from tunix_rt.models.register import register_directory


@pytest.fixture
def settings(sqlite_template: Path, tmp_path: Path) -> Settings:
    return sqlite_home(sqlite_template, tmp_path / "home")


def test_archive_is_streamed_in_chunks(store: Home, tmp_path: Path) -> None:
    directory = plain_model(tmp_path / "large")
    with (directory / "model.safetensors").open("wb") as file:
        file.truncate(16 * 2**20)
    version = register_directory(store, "demo", directory).version
    sizes = [len(piece) for piece in zip_chunks(store, version)]
    assert max(sizes) < 2 * 2**20
    assert sum(sizes) > 16 * 2**20


def test_damaged_file_truncates_archive(store: Home) -> None:
    version = registered(store)
    (blob,) = (
        path
        for path in ModelStore(store.settings.models_dir).blobs.glob("*/*")
        if b"weights" in path.read_bytes()
    )
    blob.chmod(0o644)
    blob.write_bytes(blob.read_bytes().upper())
    sent = io.BytesIO()
    with pytest.raises(DataError, match=r"model\.safetensors is not what was registered"):
        sent.writelines(zip_chunks(store, version))
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(sent)
