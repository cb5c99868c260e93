"""The tests of this folder train with each engine."""

from typing import get_args

from support.training import workspace_fixture

from tunix_rt.engines.types import EngineName

workspace = workspace_fixture(*get_args(EngineName))
