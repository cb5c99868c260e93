"""A place to train tiny models in, one a module and engine; JAX compiles its programs once for all."""

from pathlib import Path
from typing import get_args

import pytest
from support.training import Workshop, make_workshop

from tunix_rt.engines.base import EngineName


@pytest.fixture(scope="session")
def compiled_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled-programs")


@pytest.fixture(scope="module", params=get_args(EngineName))
def workshop(
    tmp_path_factory: pytest.TempPathFactory, compiled_programs: Path, request: pytest.FixtureRequest
) -> Workshop:
    return make_workshop(tmp_path_factory.mktemp("workshop"), compiled_programs, request.param)
