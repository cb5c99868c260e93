"""A place to train tiny models in with the torch engine, one a module."""

from pathlib import Path

import pytest
from support.training import Workshop, make_workshop


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    root: Path = tmp_path_factory.mktemp("workshop")
    return make_workshop(root, root / "compiled", engine="torch")
