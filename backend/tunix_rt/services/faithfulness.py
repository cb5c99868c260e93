"""The use case behind `tunix-rt eval faithfulness`: change a model's own work, and see whether it matters."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from uuid import uuid4

from tunix_rt import __version__
from tunix_rt.base.errors import ConflictError
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.base.settings import Settings
from tunix_rt.core.evaluation.faithfulness import (
    Exclusion,
    FaithfulnessReport,
    FaithfulnessSetup,
    FaithfulnessTrial,
)
from tunix_rt.datasets.evalsets import OpenedEvalSet, open_evalset
from tunix_rt.datasets.types import EvalItem
from tunix_rt.engines.generation.base import GeneratingEngine, Generator, GeneratorRequest
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.evals.checkers import require_checkers
from tunix_rt.evals.faithfulness.detection import DETECTOR_VERSION
from tunix_rt.evals.faithfulness.running import ends_within_token, run_trials
from tunix_rt.evals.faithfulness.scoring import find_examples, score_by_depth, score_group
from tunix_rt.evals.faithfulness.trials import CHECK_TEXT
from tunix_rt.evals.generating import Asking
from tunix_rt.models.find import ModelToEvaluate, Weights, find_model
from tunix_rt.recipes.types import FloatFormat
from tunix_rt.traces.types import MarkupStyle

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
