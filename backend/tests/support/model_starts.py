"""Starts the child of `support.model_child` in place of a model process."""

import os
import sys

from support import model_child
from tunix_rt.serving.names import ServableModel
from tunix_rt.serving.pool import ModelProcess


class ChildStarts:
    """Starts children and records them."""

    def __init__(self) -> None:
        self.processes: list[ModelProcess] = []

    async def __call__(self, model: ServableModel) -> ModelProcess:
        command = [sys.executable, "-S", model_child.__file__, model.argument]
        process = await ModelProcess.start(model.root, command, os.environ)
        self.processes.append(process)
        return process
