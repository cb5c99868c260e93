"""What a sweep has found out."""

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.home import Home
from tunix_rt.core.sweeps.sweep import SweepDetail
from tunix_rt.db.sweeps import SweepRepository
from tunix_rt.services.sweeps.extra import require_optuna

MIN_TRIALS = 4
"""With fewer, what looks like importance is chance."""


class Importances(BaseModel):
    """How much each searched key decided which trials were good."""

    model_config = ConfigDict(frozen=True)
    num_trials: int
    """Trials that succeeded: those that it is computed from."""
    importances: dict[str, float]
    """Share by key, the largest first; empty while there are too few trials."""


def importances(home: Home, sweep_id: str) -> Importances:
    """Shares by PED-ANOVA, which add up to 1.

    Raises:
        NotFoundError: There is no such sweep.
        MissingExtraError: Optuna is not installed.
    """
    require_optuna()
    sweep = SweepRepository(home.database).get(sweep_id)
    num_trials = sum(trial.status == "succeeded" for trial in sweep.trials)
    if num_trials < MIN_TRIALS:
        return Importances(num_trials=num_trials, importances={})
    from tunix_rt.services.sweeps.study import SweepStudy

    study = SweepStudy(sweep_id, sweep.spec, SweepRepository(home.database).journal(sweep_id))
    return Importances(num_trials=num_trials, importances=study.importances())


def find_sweep(home: Home, text: str) -> SweepDetail:
    """The sweep that somebody means: by its id, the beginning or last word of it, or its name.

    Raises:
        NotFoundError: None fits.
        InvalidInputError: Several fit.
    """
    found = SweepRepository(home.database).find_ids(text)
    if text in found or len(found) == 1:
        return SweepRepository(home.database).get(text if text in found else found[0])
    if found:
        raise InvalidInputError(
            f"{text!r} fits {len(found)} sweeps: {', '.join(found)}.", next_step="Type more of the id."
        )
    known = [sweep.sweep_id for sweep in SweepRepository(home.database).list(limit=100, offset=0).data]
    hint = did_you_mean(text, known[:5]) if known else "Start one: tunix-rt tune SWEEP.yaml"
    raise NotFoundError(f"There is no sweep {text!r}.", next_step=hint)
