"""What the demo's training was worth: the same questions before and after, none of them seen in training."""

from collections.abc import Sequence
from dataclasses import dataclass

from tunix_rt.base.home import Home
from tunix_rt.engines.generation.base import GeneratingEngine
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.evaluation.comparison.compare import compare_evaluations
from tunix_rt.evaluation.comparison.types import PairedDifference
from tunix_rt.evaluation.evaluate import EvaluationRequest, evaluate
from tunix_rt.evaluation.predict import EvaluationView
from tunix_rt.evaluation.service import load_predictions
from tunix_rt.evaluation.types import Estimate, Evaluation, Prediction
from tunix_rt.problems.demo_arithmetic import DEMO_EVALSET
from tunix_rt.recipes.types import Recipe
from tunix_rt.services.demo_training import DEMO_DEVICE

MIN_ACCURACY = 0.9
"""What the demo's recipe reaches with every seed that was tried, with room to spare."""


@dataclass(frozen=True)
class DemoResult:
    """Before and after, on the same questions under the same protocol."""

    before: Evaluation
    after: Evaluation
    difference: PairedDifference
    examples: tuple[Prediction, ...]
    """The first right answer after training, with its work; empty when there is none."""

    @property
    def accuracies(self) -> tuple[Estimate, Estimate]:
        """Before and after."""
        before, after = (evaluation.scores.overall.accuracy for evaluation in (self.before, self.after))
        assert before is not None  # a random model writes something, and all of it can be judged
        assert after is not None
        return before, after

    @property
    def has_learned(self) -> bool:
        """Whether the model can do after training what it was trained for."""
        return self.accuracies[1].value >= MIN_ACCURACY


def evaluate_random_weights(
    home: Home, engine: GeneratingEngine, recipe: Recipe, view: EvaluationView
) -> Evaluation:
    """The model as training finds it: the very weights that its first step starts from."""
    request = EvaluationRequest(
        model=recipe.model.name,
        weights="random",
        weights_seed=recipe.training.seed,
        evalset=DEMO_EVALSET,
        decoding=_decoding(recipe),
        device=DeviceRequest(DEMO_DEVICE),
    )
    return evaluate(home, engine, request, view)


def evaluate_demo_run(
    home: Home, engine: GeneratingEngine, recipe: Recipe, run_dir: RunDir, view: EvaluationView
) -> Evaluation:
    """The model that the run exported."""
    request = EvaluationRequest(
        model=str(run_dir.path),
        evalset=DEMO_EVALSET,
        decoding=_decoding(recipe),
        device=DeviceRequest(DEMO_DEVICE),
    )
    return evaluate(home, engine, request, view)


def demo_result(home: Home, before: Evaluation, after: Evaluation) -> DemoResult:
    """The two held against each other."""
    difference = compare_evaluations(home, before, after).overall
    assert difference is not None  # both were asked the same questions
    return DemoResult(before, after, difference, _first_right(load_predictions(home, after)))


def _decoding(recipe: Recipe) -> Decoding:
    # No completion of the training set is longer than a row.
    return Decoding(max_new_tokens=recipe.data.row_length)


def _first_right(predictions: Sequence[Prediction]) -> tuple[Prediction, ...]:
    right = [prediction for prediction in predictions if prediction.judgement.is_correct]
    return tuple(right[:1])
