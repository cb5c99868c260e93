"""Run the trials; the reports that exist."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict, ValidationError

from tunix_rt import __version__
from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.evalsets import OpenedEvalSet, open_evalset
from tunix_rt.datasets.types import EvalItem
from tunix_rt.engines.generation.base import GeneratingEngine, Generator, GeneratorRequest, Prompt
from tunix_rt.engines.generation.text import encode_continuation
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.evaluation.faithfulness.outcomes import (
    DETECTOR_VERSION,
    find_examples,
    read_trial,
    score_by_depth,
    score_group,
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
from tunix_rt.evaluation.predict import Asking, generate, generation_of
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.evaluation.types import Generation, GenerationFailure
from tunix_rt.models.find import ModelToEvaluate, Weights, find_model
from tunix_rt.models.types import EvaluatedModel
from tunix_rt.recipes.types import FloatFormat
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.traces.types import MarkupStyle

_AFTER = " a"

OnWritten = Callable[[int, int], None]
"""Is told how many completions are done, of how many."""


def run_trials(
    generator: Generator,
    items: Sequence[EvalItem],
    asking: Asking,
    *,
    seed: int,
    check_text: str = CHECK_TEXT,
    on_written: OnWritten = lambda num_done, num_all: None,
) -> tuple[list[FaithfulnessTrial], dict[Exclusion, int]]:
    """The trials in the order of the items, and why the other items gave none."""
    own = _own_generations(generator, items, asking, on_written)
    markup = generator.encoder.markup
    planned = [plan_trial(item, own[item.id], markup, seed) for item in items]
    trials = [plan for plan in planned if isinstance(plan, PlannedTrial)]
    excluded = Counter(plan for plan in planned if not isinstance(plan, PlannedTrial))
    written = _written_arms(generator, trials, asking, check_text, on_written)
    read = [read_trial(trial, written[number], check_text) for number, trial in enumerate(trials)]
    return read, dict(sorted(excluded.items()))


def ends_within_token(encoder: TraceEncoder, beginning: str) -> bool:
    """Whether a text that goes on has other tokens up to here: no model has seen such a beginning.

    Example:
        "Check:" is true where the tokenizer has a token for a colon with the space after it
    """
    alone, longer = encoder.encode_beginning(beginning), encoder.encode_beginning(beginning + _AFTER)
    return longer[: len(alone)] != alone


def _own_generations(
    generator: Generator, items: Sequence[EvalItem], asking: Asking, on_written: OnWritten
) -> dict[str, Generation]:
    own: dict[str, Generation] = {}
    for batch in generate(generator, items, asking, done=()):
        own |= {generation.item_id: generation for generation in batch}
        on_written(len(own), len(items))
    return own


def _written_arms(
    generator: Generator,
    trials: Sequence[PlannedTrial],
    asking: Asking,
    check_text: str,
    on_written: OnWritten,
) -> dict[int, dict[Arm, Generation]]:
    """What was written: number of the trial -> arm -> text or failure."""
    questions = {
        f"{number}/{arm}": (number, arm, trial.item.prompt, beginning)
        for number, trial in enumerate(trials)
        for arm, beginning in trial.beginnings(check_text).items()
    }
    done: dict[int, dict[Arm, Generation]] = defaultdict(dict)
    prompts: list[Prompt] = []
    for key, (number, arm, prompt, beginning) in questions.items():
        try:
            prompts.append(Prompt(key, encode_continuation(generator.encoder, prompt, beginning)))
        except DataError as error:
            failure = GenerationFailure(code="prompt-refused", detail=error.detail)
            done[number][arm] = Generation(item_id=key, failure=failure)
    num_done = len(questions) - len(prompts)
    for batch in generator.generate(
        prompts, asking.decoding, batch_size=asking.batch_size, on_note=asking.on_note
    ):
        for written in batch:
            number, arm, _, _ = questions[written.prompt.key]
            done[number][arm] = generation_of(generator.encoder, written)
        num_done += len(batch)
        on_written(num_done, len(questions))
    return done


REPORT_FILE = "faithfulness.json"


@dataclass(frozen=True)
class FaithfulnessRequest:
    """Which model, on which items, and how."""

    model: str
    evalset: str
    num_items: int = 50
    """Items to draw and ask; fewer give a trial."""
    seed: int = 0
    max_new_tokens: int = 512
    check_text: str = CHECK_TEXT
    markup: MarkupStyle | None = None
    """None: the run's own, else the default."""
    chat_template: str | None = None
    weights: Weights = "pretrained"
    weights_seed: int = 0
    device: DeviceRequest = field(default_factory=DeviceRequest)
    precision: FloatFormat | Literal["auto"] = "auto"
    batch_size: int | None = None
    output: Path | None = None
    """Directory of the report. None: one in the home directory."""

    @property
    def decoding(self) -> Decoding:
        """Greedy: with draws, chance alone would change answers."""
        return Decoding(max_new_tokens=self.max_new_tokens)


@dataclass(frozen=True)
class FaithfulnessView:
    """Told what happens."""

    on_line: Callable[[str], None] = lambda line: None
    on_written: Callable[[int, int], None] = lambda num_done, num_all: None


def measure_faithfulness(
    settings: Settings, engine: GeneratingEngine, request: FaithfulnessRequest, view: FaithfulnessView
) -> tuple[FaithfulnessReport, Path]:
    """Measure, and write the report; the report and where it is.

    Raises:
        NotFoundError: There is no such model or eval set.
        DataError: The eval set must not be used.
        ConflictError: The output directory holds an earlier report, or the model can only be had with another
            engine.
    """
    path = _report_path(settings, request.output)
    evalset = open_evalset(settings, request.evalset)
    require_checkers(evalset.items)
    found = find_model(settings, request.model, weights=request.weights, seed=request.weights_seed)
    found.require_engine(engine.name)
    generator = engine.open_generator(_generator_request(found, request))
    setup = _setup(engine, generator, found, evalset, request)
    view.on_line(f"model {found.model.name} on {generator.device}")
    if setup.is_check_split:
        view.on_line(f"{request.check_text!r} ends within a token: the check arms begin unlike any text")
    drawn = drawn_items(evalset.items, request.num_items, request.seed)
    asking = Asking(request.decoding, request.batch_size, view.on_line)
    trials, excluded = run_trials(
        generator,
        drawn,
        asking,
        seed=request.seed,
        check_text=request.check_text,
        on_written=view.on_written,
    )
    report = _report(setup, trials, excluded)
    write_json_atomically(path, report.to_json(), what="writing the report")
    return report, path


def _setup(
    engine: GeneratingEngine,
    generator: Generator,
    found: ModelToEvaluate,
    evalset: OpenedEvalSet,
    request: FaithfulnessRequest,
) -> FaithfulnessSetup:
    encoder = generator.encoder
    return FaithfulnessSetup(
        model=found.identified(generator.source, lambda fraction: None),
        evalset=evalset.name,
        evalset_hash=evalset.content_hash,
        template_hash=encoder.template.sha256,
        markup=encoder.markup,
        decoding=request.decoding,
        check_text=request.check_text,
        is_check_split=ends_within_token(encoder, request.check_text),
        detector_version=DETECTOR_VERSION,
        engine=engine.name,
        device=generator.device,
        precision=generator.precision,
        seed=request.seed,
    )


def _report(
    setup: FaithfulnessSetup, trials: Sequence[FaithfulnessTrial], excluded: dict[Exclusion, int]
) -> FaithfulnessReport:
    return FaithfulnessReport(
        created_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        setup=setup,
        num_items=len(trials) + sum(excluded.values()),
        excluded=excluded,
        overall=score_group(trials),
        by_depth=score_by_depth(trials),
        examples=find_examples(trials),
        trials=tuple(trials),
    )


def _report_path(settings: Settings, output: Path | None) -> Path:
    path = (output or settings.faithfulness_dir / str(uuid4())) / REPORT_FILE
    if path.exists():
        raise ConflictError(
            f"{path} holds an earlier report.", next_step="Choose another directory with --output."
        )
    return path


def drawn_items(items: Sequence[EvalItem], count: int, seed: int) -> list[EvalItem]:
    """So many items at random, in the order of the eval set; all of them when there are no more."""
    if count >= len(items):
        return list(items)
    chosen = random.Random(seed).sample(range(len(items)), count)
    return [items[index] for index in sorted(chosen)]


def _generator_request(found: ModelToEvaluate, request: FaithfulnessRequest) -> GeneratorRequest:
    return GeneratorRequest(
        model=found.section,
        adapter=found.adapter,
        seed=found.seed,
        device=request.device,
        precision=request.precision,
        chat_template=request.chat_template,
        markup=request.markup or found.markup,
    )


class FaithfulnessSummary(Record):
    """What a list shows of a report."""

    report_id: UUID
    created_at: datetime
    setup: FaithfulnessSetup
    num_items: int
    """Items that were drawn and asked."""
    overall: GroupFaithfulness


class FaithfulnessList(BaseModel):
    """Reports, newest first."""

    model_config = ConfigDict(frozen=True)
    data: tuple[FaithfulnessSummary, ...]


def list_reports(settings: Settings, model: EvaluatedModel | None = None) -> FaithfulnessList:
    """The reports that are there, of one model or of all."""
    found = [_summary(report_id, _read(path)) for report_id, path in _paths(settings.faithfulness_dir)]
    chosen = [one for one in found if model is None or _is_same(one.setup.model, model)]
    return FaithfulnessList(data=tuple(sorted(chosen, key=lambda one: one.created_at, reverse=True)))


def get_report(settings: Settings, report_id: UUID) -> FaithfulnessReport:
    """A report with every trial, or NotFoundError."""
    path = settings.faithfulness_dir / str(report_id) / REPORT_FILE
    if not path.is_file():
        raise NotFoundError(
            f"There is no faithfulness report {report_id}.",
            next_step="Make one: tunix-rt eval faithfulness MODEL --eval-set NAME",
        )
    return _read(path)


def _paths(directory: Path) -> Iterator[tuple[UUID, Path]]:
    for path in directory.glob(f"*/{REPORT_FILE}"):
        try:
            yield UUID(path.parent.name), path
        except ValueError:
            continue  # not ours: reports of the home directory are named by their id


def _read(path: Path) -> FaithfulnessReport:
    with storage_errors("reading the report"):
        content = path.read_bytes()
    try:
        return FaithfulnessReport.model_validate_json(content)
    except ValidationError as error:
        raise DataError(
            f"{path} is no faithfulness report that this version can read.",
            next_step="Put back the original file, or remove its directory and measure again.",
        ) from error


def _summary(report_id: UUID, report: FaithfulnessReport) -> FaithfulnessSummary:
    return FaithfulnessSummary(
        report_id=report_id,
        created_at=report.created_at,
        setup=report.setup,
        num_items=report.num_items,
        overall=report.overall,
    )


def _is_same(one: EvaluatedModel, other: EvaluatedModel) -> bool:
    """The same weights; where either was not hashed, what was asked for by the same name."""
    if one.weights_hash is not None and other.weights_hash is not None:
        return one.weights_hash == other.weights_hash
    return _asked_for(one) == _asked_for(other)


def _asked_for(model: EvaluatedModel) -> tuple[object, ...]:
    return model.name, model.origin, model.weights, model.seed
