"""A place to train tiny models in, one a module; programs are compiled once for all of them."""

from pathlib import Path

import pytest
from support.training import Workshop, make_workshop


@pytest.fixture(scope="session")
def compiled_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled-programs")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, compiled_programs: Path) -> Workshop:
    return make_workshop(tmp_path_factory.mktemp("workshop"), compiled_programs)
