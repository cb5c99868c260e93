"""What the best trial leaves behind: its recipe as a file, its model in the registry."""

from pathlib import Path

import yaml

from tunix_rt.base.errors import ConflictError
from tunix_rt.base.files.atomic import storage_errors, write_atomically
from tunix_rt.base.home import Home
from tunix_rt.core.sweeps.sweep import SweepDetail, Trial
from tunix_rt.models.register import register_run
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import ModelVersion, Remarks, parse_reference
from tunix_rt.services.sweeps.creating import trial_recipe

SWEEP_TAG = "sweep"


def require_best(sweep: SweepDetail) -> Trial:
    """The best trial so far, or ConflictError."""
    if sweep.best is None:
        raise ConflictError(
            f"No trial of the sweep {sweep.sweep_id} has succeeded.",
            next_step=f"Look at its trials: tunix-rt tune show {sweep.sweep_id}",
        )
    return sweep.best


def best_recipe_text(sweep: SweepDetail) -> str:
    """The recipe of the best trial as YAML, every key of it; or ConflictError."""
    best = require_best(sweep)
    recipe = trial_recipe(sweep.recipe, best.params)
    values = yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    found = f"{sweep.spec.metric} {best.value:g}" if best.value is not None else ""
    return f"# The best of {len(sweep.trials)} trials of the sweep {sweep.sweep_id}: {found}.\n{values}"


def save_best_recipe(home: Home, sweep: SweepDetail, output: Path | None = None) -> Path:
    """Write that recipe where it is asked for, else among the home's recipes, where it has a name."""
    path = output or home.settings.recipes_dir / f"{sweep.sweep_id}-best.yaml"
    text = best_recipe_text(sweep)
    with storage_errors(f"writing {path.name}"):
        path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path, what=f"writing {path.name}") as file:
        file.write(text.encode())
    return path


def promote_best(
    home: Home, sweep: SweepDetail, model: str, *, alias: str | None = None, notes: str = ""
) -> ModelVersion:
    """Register the model of the best trial, and let an alias point to it.

    Raises:
        ConflictError: No trial has succeeded.
        NotFoundError: Its run was removed.
    """
    best = require_best(sweep)
    remarks = Remarks(notes=notes, tags={SWEEP_TAG: sweep.sweep_id})
    version = register_run(home, model, best.run_id, remarks=remarks).version
    if alias is None:
        return version
    return ModelRepository(home.database).set_alias(parse_reference(version.reference), alias)
