"""A checkpoint of a run as a model: restored and exported by the engine that wrote it, in a child process."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.files.model_store import ModelStore
from tunix_rt.recipes.load import load_recipe
from tunix_rt.services.registry.children import run_models_command
from tunix_rt.services.registry.sources import Source, kind_of, lineage_of_run, succeeded


@contextmanager
def exported_checkpoint(settings: Settings, run_dir: RunDir, step: int) -> Iterator[Source]:
    """The weights after `step` steps, in a directory that is gone afterwards.

    Raises:
        NotFoundError: There is no checkpoint of the step.
        DataError: It is damaged.
    """
    manifest = succeeded(run_dir)
    _require_checkpoint(run_dir, step)
    recipe = load_recipe(run_dir.recipe).recipe
    files = ModelStore(settings.models_dir)
    # In the store: weights may be too large for the disk of temporary files.
    with files.adding(), tempfile.TemporaryDirectory(dir=files.incoming) as work:
        directory = Path(work) / "model"
        run_models_command(
            settings, f"Exporting step {step}", "export-checkpoint", run_dir.path, str(step), directory
        )
        lineage = lineage_of_run(run_dir, manifest, recipe, directory)
        lineage = lineage.model_copy(update={"step": step, "is_checkpoint": True, "figures": None})
        yield Source(directory, kind_of(directory), lineage=lineage, markup=recipe.data.markup)


def _require_checkpoint(run_dir: RunDir, step: int) -> None:
    """Refuse a step that has none without starting an engine."""
    kept = sorted(int(path.name) for path in run_dir.checkpoints.glob("*") if path.name.isdecimal())
    if step not in kept:
        raise NotFoundError(
            f"The run {run_dir.run_id} has no checkpoint of step {step}.",
            next_step=f"Its checkpoints: {', '.join(map(str, kept)) or 'none'}.",
        )
