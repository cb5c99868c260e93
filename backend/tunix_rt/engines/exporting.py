"""What every engine can write besides the model of a training: a checkpoint as a model, an adapter merged."""

from pathlib import Path
from typing import Literal, Protocol

from tunix_rt.base.errors import NotFoundError
from tunix_rt.engines.base import TrainingJob
from tunix_rt.engines.generation import GeneratingEngine, GeneratorRequest
from tunix_rt.engines.models import ModelSource
from tunix_rt.recipes.types import FloatFormat, Recipe, ShardingSection

AskedFormat = FloatFormat | Literal["auto"]


class ExportingEngine(GeneratingEngine, Protocol):
    """An engine that can write models that it has not just trained."""

    def export_checkpoint(self, job: TrainingJob, step: int, directory: Path) -> None:
        """Write the weights that a run had after `step` steps, as the run itself would have at its end.

        Raises:
            NotFoundError: There is no checkpoint of the step.
            DataError: It is damaged.
        """

    def merge_adapter(self, request: GeneratorRequest, directory: Path, dtype: AskedFormat) -> None:
        """Write the request's model with its adapter added: summed in float32, rounded once to `dtype`."""


def recipe_of_checkpoint(job: TrainingJob) -> Recipe:
    """The job's recipe without what only says how to compute: that is for this machine to choose.

    Raises:
        NotFoundError: The run kept no checkpoints.
    """
    if not job.checkpoints.is_dir():
        raise NotFoundError(
            f"The run {job.run_dir.run_id} has no checkpoints.",
            next_step="Register what it exported at its end: leave the step out.",
        )
    recipe = job.resolved.recipe
    training = recipe.training.model_copy(update={"attention": "auto"})
    return recipe.model_copy(update={"sharding": ShardingSection(), "training": training})


def merged_format(source: ModelSource, asked: AskedFormat) -> FloatFormat:
    """The number format of a merged model: as asked for, else that of the model below the adapter."""
    if asked != "auto":
        return asked
    own = source.config.get("dtype") or source.config.get("torch_dtype")
    return "bfloat16" if source.directory is not None and own == "bfloat16" else "float32"
