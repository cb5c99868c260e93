"""Evaluate a model: generate, judge, score, store.

Completions are written batch by batch, so the same request resumes an interrupted evaluation.
"""

import os
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

from tunix_rt import __version__
from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.base.files.locks import remove_if_unused
from tunix_rt.base.home import Home
from tunix_rt.base.host import in_this_process, worker_processes
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.evalsets import OpenedEvalSet, open_evalset
from tunix_rt.engines.generation.base import GeneratingEngine
from tunix_rt.engines.training.run_dir import RunDir, add_run_files, read_manifest
from tunix_rt.engines.types import Decoding
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.predict import EvaluationView, GenerationRequest, ModelAccess, generate_missing
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.evaluation.scoring.extraction import MAX_ANSWER_CHARS
from tunix_rt.evaluation.scoring.judgement import judge_all, protocol_versions
from tunix_rt.evaluation.scoring.scores import score
from tunix_rt.evaluation.service import add_directory
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import (
    Evaluation,
    EvaluationStart,
    GenerationFigures,
    Protocol,
    default_extraction,
    generation_figures,
)
from tunix_rt.models.find import ModelToEvaluate

MIN_FOR_WORKERS = 500
"""Fewer completions than this are judged faster than worker processes start."""


@dataclass(frozen=True)
class EvaluationRequest(GenerationRequest):
    """What to evaluate, and how."""

    decoding: Decoding = field(default_factory=Decoding)
    is_lenient: bool = False
    """Whether lenient rules may find answers; these are counted separately."""
    limit: int | None = None
    """Use only the first items of the eval set."""
    evaluation_id: UUID | None = None
    """Id for a new evaluation. None: a random one."""


def evaluate(
    home: Home, engine: GeneratingEngine, request: EvaluationRequest, view: EvaluationView
) -> Evaluation:
    """Evaluate a model, or resume the same evaluation after an interruption.

    Raises:
        NotFoundError: There is no such model or eval set.
        DataError: The eval set is invalid.
        ConflictError: The output directory holds something else, another process is writing it, or the model
            requires another engine.
    """
    evalset = open_evalset(home.settings, request.evalset).first(request.limit)
    require_checkers(evalset.items)
    model, generator_request = request.find(home.settings, engine)
    start = _start(model, evalset, request, view)
    access = ModelAccess(engine, generator_request, request.batch_size)
    directory = _output_directory(home, start, request.output)
    with directory.held():
        try:
            start = _start_or_resume(directory, start)
            if directory.evaluation.is_file():
                view.show_line(f"{directory.path} already holds this evaluation; nothing to generate")
            else:
                generate_missing(directory, start, evalset.items, access, view)
                view.show_line("judging the answers")
                finish_evaluation(directory, start)
        finally:
            remove_if_unused(directory.path)
        run_dir = model.run_dir
        # A run may be on a read-only disk, such as a dataset of a notebook.
        if run_dir is not None and not os.access(run_dir.path, os.W_OK):
            view.show_line(f"{run_dir.path} is read-only: the run gets no copy of the evaluation")
            run_dir = None
        return publish_evaluation(home, directory, run_dir)


def finish_evaluation(
    directory: EvaluationDir, start: EvaluationStart, figures: GenerationFigures | None = None
) -> Evaluation:
    """Judge every completion of a directory, then write the predictions and, last, the evaluation record.

    Args:
        directory: holds the items and all completions.
        start: the model and the protocol.
        figures: how the completions were generated. None: read from the directory, if it says.
    """
    items = directory.read_items()
    generations = list(directory.read_generations().values())
    is_large = len(generations) >= MIN_FOR_WORKERS
    with worker_processes() if is_large else nullcontext(in_this_process) as mapper:
        predictions = list(judge_all(items, generations, start.protocol, mapper))
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
    """Copy a complete evaluation into its run, if there is one, and store it in the database.

    Both steps can be repeated. The database comes last: an evaluation that is stored is complete everywhere.
    """
    if run_dir is not None:
        files = {path.name: path for path in (directory.predictions, directory.evaluation)}
        add_run_files(run_dir, files)
    return add_directory(home, directory.path)


def run_of(home: Home, evaluation: Evaluation) -> RunDir | None:
    """The finished run whose model was evaluated, if it is in the home directory."""
    if evaluation.model.run_id is None:
        return None
    run_dir = RunDir(home.settings.runs_dir / evaluation.model.run_id)
    return run_dir if run_dir.recipe.is_file() and read_manifest(run_dir) is not None else None


def evaluation_dir(settings: Settings, evaluation: Evaluation, output: Path | None = None) -> EvaluationDir:
    """The directory of an evaluation that was requested with this `output`."""
    return EvaluationDir(output or settings.evaluations_dir / str(evaluation.evaluation_id))


def _start(
    model: ModelToEvaluate, evalset: OpenedEvalSet, request: EvaluationRequest, view: EvaluationView
) -> EvaluationStart:
    source = model.source()
    markup = request.markup or model.markup
    protocol = Protocol(
        evalset_hash=evalset.content_hash,
        template_hash=model.template(source, request.chat_template).sha256,
        markup=markup,
        decoding=request.decoding,
        extraction=default_extraction(markup, is_lenient=request.is_lenient),
        max_answer_chars=MAX_ANSWER_CHARS,
        versions=protocol_versions(evalset.items),
    )
    return EvaluationStart(
        evaluation_id=request.evaluation_id or uuid4(),
        created_at=datetime.now(UTC),
        model=model.identify(source, view.show_hashing),
        evalset=evalset.name,
        protocol=protocol,
    )


def _output_directory(home: Home, start: EvaluationStart, output: Path | None) -> EvaluationDir:
    """The requested directory, else that of the same evaluation if it is not stored yet, else a new one."""
    if output is not None:
        return EvaluationDir(output.absolute())
    parent = home.settings.evaluations_dir
    for directory in map(EvaluationDir, sorted(parent.glob("*"))):
        try:
            existing = directory.read_start()
        except DataError:
            continue  # damaged, or written by another version
        if existing is None or existing.differences(start):
            continue
        evaluation = directory.read_evaluation()
        if evaluation is None or not EvaluationRepository(home.database).has(evaluation.evaluation_id):
            return directory
    return EvaluationDir(parent / str(start.evaluation_id))


def _start_or_resume(directory: EvaluationDir, start: EvaluationStart) -> EvaluationStart:
    """The start recorded in the directory if it is the same evaluation, else the new one."""
    existing = directory.read_start()
    if existing is None and not directory.is_empty():
        raise ConflictError(
            f"{directory.path} is not empty and holds no evaluation.",
            next_step="Choose another directory with --output.",
        )
    if existing is not None and (differences := existing.differences(start)):
        raise ConflictError(
            f"{directory.path} holds another evaluation. Different: {'; '.join(differences)}.",
            next_step="Repeat the original request, or choose another directory with --output.",
        )
    return existing or start
