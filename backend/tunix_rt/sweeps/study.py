"""Optuna study over journal records in the database. Imports optuna; loaded lazily."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner
from optuna.samplers import BaseSampler, GridSampler, RandomSampler, TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import BaseJournalBackend
from optuna.trial import TrialState
from pydantic import JsonValue

from tunix_rt.sweeps.store import JournalRecord
from tunix_rt.sweeps.types import ChoiceSpace, LogRandInt, LogUniform, Parameter, RandInt, SweepSpec


class MemoryJournal(BaseJournalBackend):
    """Journal records in memory: those from the database, and new ones.

    The new records are stored in one transaction with the trials that they describe, so that a crash leaves
    either both or none.
    """

    def __init__(self, records: Sequence[JournalRecord]) -> None:
        self._records = list(records)
        self._num_taken = len(records)

    def read_logs(self, log_number_from: int) -> Iterable[JournalRecord]:
        """The records from this index on."""
        return self._records[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Add records, as the plain JSON that will be read back."""
        self._records += [json.loads(json.dumps(log)) for log in logs]

    def pop_new(self) -> list[JournalRecord]:
        """The records since the last call, to be stored."""
        new = self._records[self._num_taken :]
        self._num_taken = len(self._records)
        return new


# Its messages about trials repeat what the database has.
optuna.logging.set_verbosity(optuna.logging.WARNING)

_BEST_SHARE = 0.1
_SEED_STRIDE = 1_000_003
# Sampled at random before the sampler uses its observations. On a learning rate, a weight decay and a batch
# size, 5 was as good as any of 2 to 10 for 8, 16 and 32 trials.
_NUM_RANDOM_TRIALS = 5


@dataclass(frozen=True)
class Suggestion:
    """The values of the next trial."""

    number: int
    params: dict[str, JsonValue]


class SweepStudy:
    """The sampler's view of a sweep, replayed from its journal.

    It has no side effects: the caller stores `journal.pop_new()`.
    """

    def __init__(self, sweep_id: str, spec: SweepSpec, records: list[JournalRecord]) -> None:
        self.journal = MemoryJournal(records)
        self._spec = spec
        self._storage = JournalStorage(self.journal)
        # Only `ask` needs the real sampler; the grid sampler would end the study.
        self._study = optuna.create_study(
            study_name=sweep_id,
            storage=self._storage,
            direction=spec.goal,
            sampler=RandomSampler(seed=spec.seed),
            pruner=_pruner(spec),
            load_if_exists=True,
        )

    def ask(self) -> Suggestion:
        """The next trial. The same seed, results and number always give the same values."""
        number = len(self._study.get_trials(deepcopy=False))
        asking = optuna.load_study(
            study_name=self._study.study_name,
            storage=self._storage,
            sampler=_sampler(self._spec, number),
            pruner=self._study.pruner,
        )
        space = {
            key: _distribution(parameter, self._spec) for key, parameter in self._spec.search_space.items()
        }
        trial = asking.ask(space)
        params = {
            key: json.loads(trial.params[key])
            if isinstance(kind, CategoricalDistribution)
            else trial.params[key]
            for key, kind in space.items()
        }
        return Suggestion(trial.number, params)

    def report(self, number: int, points: Iterable[tuple[int, float]]) -> int | None:
        """Report the progress of a trial.

        Args:
            number: Of the trial.
            points: Percent of its training, and the metric there.

        Returns:
            The percent at which to stop it; None to continue.
        """
        trial = optuna.trial.Trial(self._study, self._trial_id(number))
        last = self._storage.get_trial(self._trial_id(number)).last_step or 0
        for percent, value in points:
            if percent > last:
                trial.report(value, percent)
                if trial.should_prune():
                    return percent
        return None

    def succeed(self, number: int, value: float) -> None:
        """The trial ended with this value."""
        self._study.tell(number, value)

    def prune(self, number: int) -> None:
        """The trial was stopped, or counts as a bad one without a value."""
        self._study.tell(number, state=TrialState.PRUNED)

    def fail(self, number: int) -> None:
        """The trial failed for another reason than its values."""
        self._study.tell(number, state=TrialState.FAIL)

    def importances(self) -> dict[str, float]:
        """The importance of each key, the largest first; they add up to 1.

        PED-ANOVA: https://arxiv.org/abs/2304.10255. Empty if no trial stands out.
        """
        searched = [key for key, parameter in self._spec.search_space.items() if len(parameter.ends()) > 1]
        if not searched or not self._has_best_trials():
            return {}
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=_BEST_SHARE)
        return optuna.importance.get_param_importances(self._study, evaluator=evaluator, params=searched)

    def _has_best_trials(self) -> bool:
        """Whether the best tenth of the trials is better than the rest."""
        ended = self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        is_most_best = self._spec.goal == "maximize"
        values = sorted((trial.value or 0.0 for trial in ended), reverse=is_most_best)
        return bool(values) and values[math.ceil(_BEST_SHARE * len(values)) - 1] != values[-1]

    def _trial_id(self, number: int) -> int:
        return self._storage.get_trial_id_from_study_id_trial_number(self._study._study_id, number)


def _sampler(spec: SweepSpec, number: int) -> BaseSampler:
    # A sampler answers one question only: its seed must differ from trial to trial.
    seed = (spec.seed * _SEED_STRIDE + number) % 2**31
    if spec.sampler == "random":
        return RandomSampler(seed=seed)
    if spec.sampler == "tpe":
        # Keys are sampled jointly, and away from running trials.
        return TPESampler(
            seed=seed,
            n_startup_trials=_NUM_RANDOM_TRIALS,
            multivariate=True,
            constant_liar=spec.max_concurrent > 1,
        )
    points = {key: _texts(parameter.points() or ()) for key, parameter in spec.search_space.items()}
    return GridSampler(points, seed=spec.seed)


def _pruner(spec: SweepSpec) -> BasePruner:
    if spec.pruner == "median":
        return MedianPruner(n_startup_trials=spec.prune_after_trials, n_warmup_steps=spec.prune_after_percent)
    if spec.pruner == "hyperband":
        return HyperbandPruner(min_resource=spec.prune_after_percent, max_resource=100)
    return NopPruner()


def _distribution(parameter: Parameter, spec: SweepSpec) -> BaseDistribution:
    if isinstance(parameter, ChoiceSpace) or spec.sampler == "grid":
        return CategoricalDistribution(_texts(parameter.points() or ()))
    if isinstance(parameter, RandInt | LogRandInt):
        return IntDistribution(parameter.min, parameter.max, log=isinstance(parameter, LogRandInt))
    return FloatDistribution(parameter.min, parameter.max, log=isinstance(parameter, LogUniform))


def _texts(values: Iterable[JsonValue]) -> list[str]:
    """Choices as JSON text: the sampler takes plain values only, no lists."""
    return [json.dumps(value) for value in values]
