"""Run faithfulness trials, write the report, list the reports."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict, ValidationError

from tunix_rt import __version__
from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.evalsets import OpenedEvalSet, open_evalset
from tunix_rt.datasets.types import EvalItem
from tunix_rt.engines.generation.base import GeneratingEngine, Generator, Prompt
from tunix_rt.engines.generation.text import encode_continuation
from tunix_rt.engines.types import Decoding
from tunix_rt.evaluation.faithfulness.outcomes import (
    DETECTOR_VERSION,
    find_examples,
    score_by_depth,
    score_group,
    score_trial,
)
from tunix_rt.evaluation.faithfulness.trials import CHECK_TEXT, PlannedTrial, plan_trial
from tunix_rt.evaluation.faithfulness.types import (
    Arm,
    Exclusion,
    FaithfulnessReport,
    FaithfulnessSetup,
    FaithfulnessTrial,
    GroupFaithfulness,
)
from tunix_rt.evaluation.predict import GenerationOptions, GenerationRequest, generate, generation_of
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.evaluation.types import Generation, GenerationFailure
from tunix_rt.models.find import ModelToEvaluate
from tunix_rt.models.types import EvaluatedModel
from tunix_rt.tokenization.encoding import TraceEncoder

REPORT_FILE = "faithfulness.json"

OnProgress = Callable[[int, int], None]
"""Receives the number of finished completions and the total."""


@dataclass(frozen=True)
class FaithfulnessRequest(GenerationRequest):
    """Which model to measure, on which items, and how."""

    num_items: int = 50
    """Items to sample and answer; not every item gives a trial."""
    seed: int = 0
    max_new_tokens: int = 512
    check_text: str = CHECK_TEXT


def measure_faithfulness(
    settings: Settings,
    engine: GeneratingEngine,
    request: FaithfulnessRequest,
    on_line: Callable[[str], None],
    on_written: OnProgress,
) -> tuple[FaithfulnessReport, Path]:
    """Run the trials and write the report; returns the report and its path.

    Raises:
        NotFoundError: There is no such model or eval set.
        DataError: The eval set is invalid.
        ConflictError: The output directory holds an earlier report, or the model requires another engine.
    """
    path = (request.output or settings.faithfulness_dir / str(uuid4())) / REPORT_FILE
    if path.exists():
        raise ConflictError(
            f"{path} holds an earlier report.", next_step="Choose another directory with --output."
        )
    evalset = open_evalset(settings, request.evalset)
    require_checkers(evalset.items)
    model, generator_request = request.find(settings, engine)
    generator = engine.open_generator(generator_request)
    # Greedy: with sampling, chance alone would change answers.
    options = GenerationOptions(Decoding(max_new_tokens=request.max_new_tokens), request.batch_size, on_line)
    setup = _describe_setup(engine, generator, model, evalset, request, options)
    on_line(f"model {model.model.name} on {generator.device}")
    if setup.is_check_split:
        on_line(f"{request.check_text!r} ends within a token: the check arms start unlike any text")
    num_items = min(request.num_items, len(evalset.items))
    chosen = random.Random(request.seed).sample(range(len(evalset.items)), num_items)
    items = [evalset.items[index] for index in sorted(chosen)]
    trials, excluded = _run_trials(generator, items, options, request, on_written)
    report = FaithfulnessReport(
        created_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        setup=setup,
        num_items=len(items),
        excluded=excluded,
        overall=score_group(trials),
        by_depth=score_by_depth(trials),
        examples=find_examples(trials),
        trials=tuple(trials),
    )
    write_json_atomically(path, report.to_json(), what="writing the report")
    return report, path


def _describe_setup(
    engine: GeneratingEngine,
    generator: Generator,
    model: ModelToEvaluate,
    evalset: OpenedEvalSet,
    request: FaithfulnessRequest,
    options: GenerationOptions,
) -> FaithfulnessSetup:
    encoder = generator.encoder
    return FaithfulnessSetup(
        model=model.identify(generator.source, lambda fraction: None),
        evalset=evalset.name,
        evalset_hash=evalset.content_hash,
        template_hash=encoder.template.sha256,
        markup=encoder.markup,
        decoding=options.decoding,
        check_text=request.check_text,
        is_check_split=ends_within_token(encoder, request.check_text),
        detector_version=DETECTOR_VERSION,
        engine=engine.name,
        device=generator.device,
        precision=generator.precision,
        seed=request.seed,
    )


def _run_trials(
    generator: Generator,
    items: Sequence[EvalItem],
    options: GenerationOptions,
    request: FaithfulnessRequest,
    on_written: OnProgress,
) -> tuple[list[FaithfulnessTrial], dict[Exclusion, int]]:
    """The trials in the order of the items, and why the other items gave none."""
    completions: dict[str, Generation] = {}
    for batch in generate(generator, items, options, done=()):
        completions |= {generation.item_id: generation for generation in batch}
        on_written(len(completions), len(items))
    markup, seed, check_text = generator.encoder.markup, request.seed, request.check_text
    plans = [plan_trial(item, completions[item.id], markup, seed) for item in items]
    trials = [plan for plan in plans if isinstance(plan, PlannedTrial)]
    excluded = Counter(plan for plan in plans if not isinstance(plan, PlannedTrial))
    done = _generate_arms(generator, trials, options, check_text, on_written)
    scored = [score_trial(trial, done[number], check_text) for number, trial in enumerate(trials)]
    return scored, dict(sorted(excluded.items()))


def ends_within_token(encoder: TraceEncoder, beginning: str) -> bool:
    """Whether the tokens of a text change when it continues: no model has seen such a prefix.

    Example:
        "Check:" is true if the tokenizer has one token for a colon and the space after it
    """
    alone, longer = encoder.encode_beginning(beginning), encoder.encode_beginning(f"{beginning} a")
    return longer[: len(alone)] != alone


def _generate_arms(
    generator: Generator,
    trials: Sequence[PlannedTrial],
    options: GenerationOptions,
    check_text: str,
    on_written: OnProgress,
) -> list[dict[Arm, Generation]]:
    """Generate all arms: for each trial, arm -> completion or failure."""
    done: dict[str, Generation] = {}
    prompts: list[Prompt] = []
    for number, trial in enumerate(trials):
        for arm, beginning in trial.beginnings(check_text).items():
            key = f"{number}/{arm}"
            try:
                token_ids = encode_continuation(generator.encoder, trial.item.prompt, beginning)
            except DataError as error:
                failure = GenerationFailure(code="prompt-refused", detail=error.detail)
                done[key] = Generation(item_id=key, failure=failure)
            else:
                prompts.append(Prompt(key, token_ids))
    num_all = len(done) + len(prompts)
    for batch in generator.generate(
        prompts, options.decoding, batch_size=options.batch_size, on_note=options.on_note
    ):
        done |= {written.prompt.key: generation_of(generator.encoder, written) for written in batch}
        on_written(len(done), num_all)
    return [
        {arm: done[f"{number}/{arm}"] for arm in trial.beginnings(check_text)}
        for number, trial in enumerate(trials)
    ]


class FaithfulnessSummary(Record):
    """The entry of a report in a list."""

    report_id: UUID
    created_at: datetime
    setup: FaithfulnessSetup
    num_items: int
    """Items that were sampled and answered."""
    overall: GroupFaithfulness


class FaithfulnessList(BaseModel):
    """Reports, newest first."""

    model_config = ConfigDict(frozen=True)
    data: tuple[FaithfulnessSummary, ...]


def list_reports(settings: Settings, model: EvaluatedModel | None = None) -> FaithfulnessList:
    """The reports in the home directory, of one model or of all."""
    summaries = []
    for path in settings.faithfulness_dir.glob(f"*/{REPORT_FILE}"):
        try:
            report_id = UUID(path.parent.name)
        except ValueError:
            continue  # not ours: reports in the home directory are named by their id
        report = _read(path)
        if model is None or _is_same(report.setup.model, model):
            summaries.append(
                FaithfulnessSummary(
                    report_id=report_id,
                    created_at=report.created_at,
                    setup=report.setup,
                    num_items=report.num_items,
                    overall=report.overall,
                )
            )
    return FaithfulnessList(data=tuple(sorted(summaries, key=lambda one: one.created_at, reverse=True)))


def get_report(settings: Settings, report_id: UUID) -> FaithfulnessReport:
    """A report with every trial, or NotFoundError."""
    path = settings.faithfulness_dir / str(report_id) / REPORT_FILE
    if not path.is_file():
        raise NotFoundError(
            f"There is no faithfulness report {report_id}.",
            next_step="Create one: tunix-rt eval faithfulness MODEL --eval-set NAME",
        )
    return _read(path)


def _read(path: Path) -> FaithfulnessReport:
    with storage_errors("reading the report"):
        content = path.read_bytes()
    try:
        return FaithfulnessReport.model_validate_json(content)
    except ValidationError as error:
        raise DataError(
            f"{path} is not a faithfulness report that this version can read.",
            next_step="Restore the original file, or delete its directory and measure again.",
        ) from error


def _is_same(one: EvaluatedModel, other: EvaluatedModel) -> bool:
    """Whether two models have the same weights; unless both were hashed, the same name and settings."""
    if one.weights_hash is not None and other.weights_hash is not None:
        return one.weights_hash == other.weights_hash
    settings = attrgetter("name", "origin", "weights", "seed")
    return bool(settings(one) == settings(other))
