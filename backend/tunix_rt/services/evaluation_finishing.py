"""From texts to a stored evaluation: judge, score, write the record, copy it into the run, store it."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime

from tunix_rt import __version__
from tunix_rt.base.home import Home
from tunix_rt.base.host import in_this_process, worker_processes
from tunix_rt.core.evaluation.prediction import Generation, Prediction
from tunix_rt.core.evaluation.protocol import Protocol
from tunix_rt.core.evaluation.record import Evaluation, GenerationFigures
from tunix_rt.core.evaluation.request import EvaluationStart, generation_figures
from tunix_rt.datasets.types import EvalItem
from tunix_rt.engines.training.run_dir import RunDir, add_run_files, read_manifest
from tunix_rt.evals.judging import judge_all
from tunix_rt.evals.scores import score
from tunix_rt.files.evaluation_dirs import EvaluationDir
from tunix_rt.services.evaluations import add_directory

MIN_FOR_WORKERS = 500
"""Fewer predictions are judged before worker processes would have started."""


def finish_evaluation(
    directory: EvaluationDir, start: EvaluationStart, figures: GenerationFigures | None = None
) -> Evaluation:
    """Judge every text of a directory and write its predictions and, last, its record.

    Args:
        directory: holds the items and all the texts.
        start: what was asked.
        figures: how the texts were made. None: as the directory says, if it does.
    """
    generations = directory.read_generations().values()
    predictions = _judged(directory.read_items(), list(generations), start.protocol)
    num_new_tokens = sum(generation.num_new_tokens for generation in generations)
    evaluation = Evaluation(
        evaluation_id=start.evaluation_id,
        created_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        model=start.model,
        evalset=start.evalset,
        num_items=len({prediction.item_id for prediction in predictions}),
        protocol=start.protocol,
        fingerprint=start.protocol.fingerprint,
        scores=score(predictions, has_lenient_rules=bool(start.protocol.extraction.lenient_rules)),
        generation=figures or generation_figures(directory.read_batches(), num_new_tokens=num_new_tokens),
        predictions_hash=directory.write_predictions(predictions),
        rescored_from=start.rescored_from,
    )
    directory.finish(evaluation)
    return evaluation


def publish_evaluation(home: Home, directory: EvaluationDir, run_dir: RunDir | None) -> Evaluation:
    """Copy a complete evaluation into its run, if there is one, and store it; both only where missing.

    Last of all comes the database: an evaluation that is in it is whole everywhere.
    """
    if run_dir is not None:
        files = {path.name: path for path in (directory.predictions, directory.evaluation)}
        add_run_files(run_dir, files)
    return add_directory(home, directory.path)


def run_of(home: Home, evaluation: Evaluation) -> RunDir | None:
    """The finished run that an evaluation is of, if it lies in the home directory."""
    if evaluation.model.run_id is None:
        return None
    run_dir = RunDir(home.settings.runs_dir / evaluation.model.run_id)
    return run_dir if run_dir.recipe.is_file() and read_manifest(run_dir) is not None else None


def _judged(
    items: Sequence[EvalItem], generations: Sequence[Generation], protocol: Protocol
) -> list[Prediction]:
    is_large = len(generations) >= MIN_FOR_WORKERS
    with worker_processes() if is_large else nullcontext(in_this_process) as mapper:
        return list(judge_all(items, generations, protocol, mapper))
