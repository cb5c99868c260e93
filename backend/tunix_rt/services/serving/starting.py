"""The command and the environment of a model's process."""

import os
import sys

from tunix_rt.base.settings import Settings
from tunix_rt.services.serving.naming import FoundModel
from tunix_rt.services.serving.pool import StartProcess
from tunix_rt.services.serving.process import ModelProcess


def process_starter(settings: Settings) -> StartProcess:
    """Starts processes that use the same home and database as this one."""

    async def start(model: FoundModel) -> ModelProcess:
        return await ModelProcess.start(model.root, _command(settings, model), _environment(settings))

    return start


def _command(settings: Settings, model: FoundModel) -> list[str]:
    where = ["--engine", settings.serving_engine, "--device", settings.serving_device]
    rows = ["--max-rows", str(settings.serving_max_rows)]
    # By name: the services and the command line's engines do not import each other.
    return [sys.executable, "-m", "tunix_rt.cli.model_server", model.argument, *where, *rows]


def _environment(settings: Settings) -> dict[str, str]:
    named = {"TUNIX_RT_HOME": str(settings.home_dir)}
    if settings.database_url is not None:
        named["TUNIX_RT_DATABASE_URL"] = settings.database_url
    # JAX would take most of a GPU at once, and the next model would find none left.
    return {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ, **named}
