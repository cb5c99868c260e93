"""Start, cancel, resume, remove; best trial, importances, promote."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import ConflictError, InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.files.atomic import storage_errors, write_atomically
from tunix_rt.base.home import Home
from tunix_rt.models.register import register_run
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import ModelVersion, VersionAnnotations, parse_reference
from tunix_rt.recipes.load import resolve_recipe
from tunix_rt.runs.service import resume as resume_run
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.sweeps.advance import advance
from tunix_rt.sweeps.create import as_override, has_optuna, require_optuna
from tunix_rt.sweeps.store import SweepRepository
from tunix_rt.sweeps.types import SweepDetail, Trial, require_sweep_transition


def start(home: Home, sweep_id: str) -> SweepDetail:
    """Start a new sweep; a worker takes it up at its next poll.

    Raises:
        NotFoundError: There is no such sweep.
        ConflictError: It has started already.
    """
    require_optuna()
    sweeps = SweepRepository(home.database)
    require_sweep_transition(sweep_id, sweeps.get(sweep_id).status, "running")
    sweeps.move(sweep_id, "running", datetime.now(UTC))
    return sweeps.get(sweep_id)


def cancel(home: Home, sweep_id: str) -> SweepDetail:
    """Cancel a sweep and its trials. Running ones are asked to stop.

    Raises:
        NotFoundError: There is no such sweep.
        ConflictError: It has ended.
    """
    sweeps = SweepRepository(home.database)
    status = sweeps.get(sweep_id).status
    if status != "cancelling":
        sweeps.move(sweep_id, "cancelled" if status == "queued" else "cancelling", datetime.now(UTC))
    if status != "queued" and has_optuna():
        advance(home, sweep_id)  # now: there may be no worker
    return sweeps.get(sweep_id)


def resume(home: Home, sweep_id: str) -> SweepDetail:
    """Resume a cancelled or failed sweep; its cancelled trials resume from their last checkpoints.

    Raises:
        NotFoundError: There is no such sweep.
        ConflictError: It is running, or has succeeded.
    """
    require_optuna()
    sweeps = SweepRepository(home.database)
    sweep = sweeps.get(sweep_id)
    require_sweep_transition(sweep_id, sweep.status, "running")
    again = [trial for trial in sweep.trials if trial.status == "cancelled"]
    # Runs first: a trial whose run is still cancelled would count as stopped again.
    for trial in again:
        with suppress(NotFoundError):  # it was removed, or never submitted: it will be
            if RunRepository(home.database).status_of(trial.run_id).status == "cancelled":
                resume_run(home, trial.run_id)
    reset = {"status": "queued", "error": None, "finished_at": None}
    trials = [trial.model_copy(update=reset) for trial in again]
    sweeps.move(sweep_id, "running", datetime.now(UTC), trials=trials)
    return sweeps.get(sweep_id)


def require_best(sweep: SweepDetail) -> Trial:
    """The best trial so far, or ConflictError."""
    if sweep.best is None:
        raise ConflictError(
            f"No trial of the sweep {sweep.sweep_id} has succeeded.",
            next_step=f"Show its trials: tunix-rt tune show {sweep.sweep_id}",
        )
    return sweep.best


def best_recipe_text(sweep: SweepDetail) -> str:
    """The recipe of the best trial as YAML, every key of it; or ConflictError."""
    best = require_best(sweep)
    sets = [as_override(key, value) for key, value in best.params.items()]
    recipe = resolve_recipe(sweep.recipe, what="the sweep's recipe", sets=sets).recipe
    values = yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    found = f"{sweep.spec.metric} {best.value:g}" if best.value is not None else ""
    return f"# The best of {len(sweep.trials)} trials of the sweep {sweep.sweep_id}: {found}.\n{values}"


def save_best_recipe(home: Home, sweep: SweepDetail, output: Path | None = None) -> Path:
    """Write that recipe to `output`, or to the recipes of the home, where it has a name."""
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
    """Register the model of the best trial, and optionally set an alias.

    Raises:
        ConflictError: No trial has succeeded.
        NotFoundError: Its run was removed.
    """
    best = require_best(sweep)
    annotations = VersionAnnotations(notes=notes, tags={"sweep": sweep.sweep_id})
    version = register_run(home, model, best.run_id, annotations=annotations).version
    if alias is None:
        return version
    return ModelRepository(home.database).set_alias(parse_reference(version.reference), alias)


MIN_TRIALS = 4
"""With fewer trials, importances are noise."""


class Importances(BaseModel):
    """The importance of each searched key."""

    model_config = ConfigDict(frozen=True)
    num_trials: int
    """Successful trials, from which it is computed."""
    importances: dict[str, float]
    """Share by key, largest first; empty while there are too few trials."""


def importances(home: Home, sweep_id: str) -> Importances:
    """PED-ANOVA importances, which add up to 1.

    Raises:
        NotFoundError: There is no such sweep.
        MissingExtraError: Optuna is not installed.
    """
    require_optuna()
    sweep = SweepRepository(home.database).get(sweep_id)
    num_trials = sum(trial.status == "succeeded" for trial in sweep.trials)
    if num_trials < MIN_TRIALS:
        return Importances(num_trials=num_trials, importances={})
    from tunix_rt.sweeps.study import SweepStudy

    study = SweepStudy(sweep_id, sweep.spec, SweepRepository(home.database).journal(sweep_id))
    return Importances(num_trials=num_trials, importances=study.importances())


def find_sweep(home: Home, text: str) -> SweepDetail:
    """Find a sweep by its id, the start or last word of the id, or its name.

    Raises:
        NotFoundError: No sweep matches.
        InvalidInputError: Several sweeps match.
    """
    sweeps = SweepRepository(home.database)
    found = sweeps.find_ids(text)
    if text in found or len(found) == 1:
        return sweeps.get(text if text in found else found[0])
    if found:
        raise InvalidInputError(
            f"{text!r} matches {len(found)} sweeps: {', '.join(found)}.", next_step="Type more of the id."
        )
    known = [sweep.sweep_id for sweep in sweeps.list(limit=100, offset=0).data]
    hint = did_you_mean(text, known[:5]) if known else "Start one: tunix-rt tune SWEEP.yaml"
    raise NotFoundError(f"There is no sweep {text!r}.", next_step=hint)
