"""Ask, judge, score, store.

What a process has written stays: the same request goes on where the last one stopped.
"""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid4

from tunix_rt import __version__
from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.base.home import Home
from tunix_rt.base.host import in_this_process, worker_processes
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.evalsets import OpenedEvalSet, open_evalset
from tunix_rt.datasets.types import EvalItem
from tunix_rt.engines.generation.base import GeneratingEngine, GeneratorRequest
from tunix_rt.engines.training.run_dir import RunDir, add_run_files, read_manifest
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.predict import EvaluationView, ModelAccess, write_missing_texts
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.evaluation.scoring.extraction import MAX_ANSWER_CHARS
from tunix_rt.evaluation.scoring.judgement import judge_all, protocol_versions
from tunix_rt.evaluation.scoring.scores import score
from tunix_rt.evaluation.service import add_directory
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import (
    Evaluation,
    EvaluationStart,
    Generation,
    GenerationFigures,
    Prediction,
    Protocol,
    default_extraction,
    generation_figures,
)
from tunix_rt.models.find import ModelToEvaluate, Weights, find_model
from tunix_rt.recipes.types import FloatFormat
from tunix_rt.traces.types import MarkupStyle

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


@dataclass(frozen=True)
class EvaluationRequest:
    """What is evaluated, and how."""

    model: str
    """As `find_model` takes it."""
    evalset: str
    """Name or file."""
    decoding: Decoding = field(default_factory=Decoding)
    is_lenient: bool = False
    """Whether lenient rules may find answers, counted apart."""
    markup: MarkupStyle | None = None
    """None: the run's own, else the default."""
    chat_template: str | None = None
    """Name of a built-in template. None: the model's own."""
    weights: Weights = "pretrained"
    weights_seed: int = 0
    revision: str | None = None
    device: DeviceRequest = field(default_factory=DeviceRequest)
    precision: FloatFormat | Literal["auto"] = "auto"
    batch_size: int | None = None
    limit: int | None = None
    """Only the first items."""
    output: Path | None = None
    """Directory of the evaluation. None: one in the home directory."""
    evaluation_id: UUID | None = None
    """Of a new evaluation. None: any."""


def evaluate(
    home: Home, engine: GeneratingEngine, request: EvaluationRequest, view: EvaluationView
) -> Evaluation:
    """Evaluate, or go on with the same evaluation where an earlier process stopped.

    Raises:
        NotFoundError: There is no such model or eval set.
        DataError: The eval set must not be used.
        ConflictError: The output directory holds something else, or another process writes it; or the model
            can only be had with another engine.
    """
    evalset = open_evalset(home.settings, request.evalset).first(request.limit)
    require_checkers(evalset.items)
    found = find_model(
        home.settings,
        request.model,
        weights=request.weights,
        seed=request.weights_seed,
        revision=request.revision,
    )
    found.require_engine(engine.name)
    start = _start(found, evalset, request, view)
    directory = _directory(home, start, request.output)
    access = ModelAccess(engine, _generator_request(found, request, start.protocol), request.batch_size)
    with directory.held():
        try:
            _complete(directory, _same_start(directory, start), evalset.items, access, view)
        finally:
            directory.remove_if_unused()
        return publish_evaluation(home, directory, _run_that_takes_a_copy(found, view))


def evaluation_dir(settings: Settings, evaluation: Evaluation, output: Path | None = None) -> EvaluationDir:
    """Where an evaluation lies that was asked to go to `output`."""
    return EvaluationDir(output or settings.evaluations_dir / str(evaluation.evaluation_id))


def _start(
    found: ModelToEvaluate, evalset: OpenedEvalSet, request: EvaluationRequest, view: EvaluationView
) -> EvaluationStart:
    source = found.source()
    markup = request.markup or found.markup
    protocol = Protocol(
        evalset_hash=evalset.content_hash,
        template_hash=found.template(source, request.chat_template).sha256,
        markup=markup,
        decoding=request.decoding,
        extraction=default_extraction(markup, is_lenient=request.is_lenient),
        max_answer_chars=MAX_ANSWER_CHARS,
        versions=protocol_versions(evalset.items),
    )
    return EvaluationStart(
        evaluation_id=request.evaluation_id or uuid4(),
        created_at=datetime.now(UTC),
        model=found.identify(source, view.show_hashing),
        evalset=evalset.name,
        protocol=protocol,
    )


def _directory(home: Home, start: EvaluationStart, output: Path | None) -> EvaluationDir:
    """The directory asked for; else that of the same evaluation if it is unfinished, else a new one."""
    if output is not None:
        return EvaluationDir(output.absolute())
    parent = home.settings.evaluations_dir
    unfinished = (
        directory
        for directory in map(EvaluationDir, sorted(parent.glob("*")))
        if _is_same(directory, start) and not _is_stored(home, directory)
    )
    return next(unfinished, EvaluationDir(parent / str(start.evaluation_id)))


def _is_same(directory: EvaluationDir, start: EvaluationStart) -> bool:
    try:
        there = directory.read_start()
    except DataError:
        return False  # damaged, or of another version: not ours to go on with
    return there is not None and not there.differences(start)


def _is_stored(home: Home, directory: EvaluationDir) -> bool:
    evaluation = directory.read_evaluation()
    return evaluation is not None and EvaluationRepository(home.database).has(evaluation.evaluation_id)


def _same_start(directory: EvaluationDir, start: EvaluationStart) -> EvaluationStart:
    """What the directory is about already, if it is the same; else what is asked now."""
    there = directory.read_start()
    if there is None and not directory.is_empty():
        raise ConflictError(
            f"{directory.path} is not empty and holds no evaluation.",
            next_step="Choose another directory with --output.",
        )
    if there is not None and (differences := there.differences(start)):
        raise ConflictError(
            f"{directory.path} holds another evaluation. Different: {'; '.join(differences)}.",
            next_step="Ask for the same as before, or choose another directory with --output.",
        )
    return there or start


def _complete(
    directory: EvaluationDir,
    start: EvaluationStart,
    items: Sequence[EvalItem],
    access: ModelAccess,
    view: EvaluationView,
) -> None:
    if directory.evaluation.is_file():
        view.show_line(f"{directory.path} holds this evaluation already; nothing is written again")
        return
    write_missing_texts(directory, start, items, access, view)
    view.show_line("judging the answers")
    finish_evaluation(directory, start)


def _run_that_takes_a_copy(found: ModelToEvaluate, view: EvaluationView) -> RunDir | None:
    """The run, unless it lies on a disk that is only for reading, as datasets of notebooks do."""
    run_dir = found.run_dir
    if run_dir is None or os.access(run_dir.path, os.W_OK):
        return run_dir
    view.show_line(f"{run_dir.path} cannot be written: the run gets no copy of the evaluation")
    return None


def _generator_request(
    found: ModelToEvaluate, request: EvaluationRequest, protocol: Protocol
) -> GeneratorRequest:
    return GeneratorRequest(
        model=found.section,
        adapter=found.adapter,
        seed=found.seed,
        device=request.device,
        precision=request.precision,
        chat_template=request.chat_template,
        markup=protocol.markup,
    )
