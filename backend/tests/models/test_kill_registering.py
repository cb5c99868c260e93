"""A registration killed with SIGKILL leaves no partial version and can be retried."""

import time
from pathlib import Path

from support.children import environment, start_program
from support.models import plain_model, sqlite_home

from tunix_rt.base.home import open_home
from tunix_rt.models.files import ModelStore
from tunix_rt.models.register import register_directory
from tunix_rt.models.service import collect_garbage, verify_versions
from tunix_rt.models.store import ModelRepository

NUM_FILES = 1_000
WAIT_S = 60


def test_killed_registration_can_be_retried(sqlite_template: Path, tmp_path: Path) -> None:
    settings = sqlite_home(sqlite_template, tmp_path / "home")
    directory = plain_model(tmp_path / "elsewhere")
    for number in range(NUM_FILES):
        (directory / f"part-{number}.bin").write_text(f"bytes {number}")
    files = ModelStore(settings.models_dir)
    child = start_program(
        "models", "register", "demo", "--directory", directory, environ=environment(settings)
    )
    with child:
        deadline = time.monotonic() + WAIT_S
        while child.poll() is None and len(list(files.blobs.glob("*/*"))) < 50:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        child.kill()
    store = open_home(settings)
    # The database row is written last: without it the blobs are garbage, with it the version is complete.
    is_registered = ModelRepository(store.database).names() == ("demo",)
    assert is_registered or ModelRepository(store.database).names() == ()
    if not is_registered:
        assert collect_garbage(store).num_blobs >= 50
        assert list(files.blobs.glob("*/*")) == []
    (files.incoming / "partial").write_text("bytes of an unfinished copy")

    version = register_directory(store, "demo", directory).version
    assert [verdict.problems for verdict in verify_versions(store, [version])] == [()]
    assert collect_garbage(store).num_blobs == 0
    assert list(files.incoming.iterdir()) == []
    store.close()
