"""A home to train tiny models in, one per module and engine."""

from typing import get_args

import pytest
from support.training import Workshop, make_workshop

from tunix_rt.engines.types import EngineName


@pytest.fixture(scope="module", params=get_args(EngineName))
def workshop(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Workshop:
    return make_workshop(tmp_path_factory.mktemp("workshop"), request.param)
