"""Load a rubric, grade an evaluation, summarize."""

import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError

from tunix_rt import __version__
from tunix_rt.base.assets import shipped_rubric_path
from tunix_rt.base.errors import InvalidInputError, JudgeError, NotFoundError
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.base.files.yaml_text import parse_yaml
from tunix_rt.base.home import Home
from tunix_rt.base.host import in_threads
from tunix_rt.base.records import explain_validation_error
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.evaluation.files import EVALUATION_FILE
from tunix_rt.evaluation.rubric.endpoint import Chat
from tunix_rt.evaluation.rubric.grading import Grader, JudgeCache, grading_messages
from tunix_rt.evaluation.rubric.types import (
    Grade,
    JudgeModel,
    JudgeUsage,
    MeanGrade,
    Prices,
    Rubric,
    RubricReport,
)
from tunix_rt.evaluation.scoring.scores import ratio_estimate
from tunix_rt.evaluation.service import find_evaluation, load_predictions, named_directory
from tunix_rt.evaluation.types import Evaluation, Prediction, json_hash

_EXAMPLE = "docs/judging.md shows a rubric"
_ENDINGS = (".yaml", ".yml", ".json")


def load_rubric(reference: str) -> Rubric:
    """A shipped rubric by name, or the rubric in a file.

    Example:
        "shown_work", "rubrics/mine.yaml"

    Raises:
        NotFoundError: There is no such rubric.
        InvalidInputError: The file is not a rubric.
    """
    is_file = "/" in reference or reference.endswith(_ENDINGS)
    path = Path(reference) if is_file else shipped_rubric_path(reference)
    try:
        values = parse_yaml(path.read_text(encoding="utf-8"), what=path.name, example=_EXAMPLE)
        return Rubric.model_validate(values)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise NotFoundError(
            f"There is no rubric file {path}.",
            next_step="Check the path, or name a shipped rubric: shown_work.",
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path.name} is not UTF-8 text.", next_step=f"Save it as UTF-8; {_EXAMPLE}."
        ) from error
    except ValidationError as error:
        raise InvalidInputError(
            f"{path.name} is not a rubric: {explain_validation_error(error, whole='rubric')}.",
            next_step=f"Correct it; {_EXAMPLE} with every key.",
        ) from error


def criterion_means(rubric: Rubric, grades: Sequence[Grade]) -> dict[str, MeanGrade]:
    """The mean of every criterion over the graded completions; empty if there are none."""
    graded = [grade for grade in grades if grade.failure is None]
    means: dict[str, MeanGrade] = {}
    for criterion in rubric.criteria:
        width = criterion.highest - criterion.lowest
        shares: dict[str, list[float]] = defaultdict(list)
        for grade in graded:
            shares[grade.item_id].append((grade.criteria[criterion.name].score - criterion.lowest) / width)
        estimate = ratio_estimate([(sum(one), len(one)) for one in shares.values()])
        if estimate is not None:
            bounds = (estimate.value, estimate.low, estimate.high)
            mean, low, high = (criterion.lowest + width * share for share in bounds)
            means[criterion.name] = MeanGrade(
                mean=mean,
                low=low,
                high=high,
                n=estimate.n,
                num_items=len(shares),
                lowest=criterion.lowest,
                highest=criterion.highest,
            )
    return means


def failure_counts(grades: Sequence[Grade]) -> dict[str, int]:
    """Failure code -> completions, sorted by code."""
    return dict(sorted(Counter(grade.failure.code for grade in grades if grade.failure).items()))


MAX_FAILURES_IN_A_ROW = 10
_ENDPOINT_FAILURES = {"timeout", "rate-limited", "server-error", "refused"}


@dataclass(frozen=True)
class JudgingOptions:
    """Which items to judge, and how fast."""

    max_items: int | None = None
    """Judge this many randomly chosen items with all of their samples. None: all items."""
    seed: int = 0
    """Of the random choice."""
    concurrency: int = 4
    prices: Prices | None = None


def judge_evaluation(
    home: Home,
    reference: str,
    chat: Chat,
    judge: JudgeModel,
    rubric: Rubric,
    options: JudgingOptions,
    on_graded: Callable[[int, int], None] = lambda num_done, num_all: None,
) -> tuple[RubricReport, Path]:
    """Grade the completions of an evaluation; returns the report and its path.

    Every grade is cached at once, so the same call resumes after any interruption.

    Raises:
        NotFoundError: There is no such evaluation.
        JudgeError: The endpoint cannot judge anything.
    """
    evaluation = find_evaluation(home, reference)
    predictions = load_predictions(home, evaluation)
    items = list(dict.fromkeys(prediction.item_id for prediction in predictions))
    if options.max_items is not None and options.max_items < len(items):
        chosen = set(random.Random(options.seed).sample(items, options.max_items))
        predictions = tuple(prediction for prediction in predictions if prediction.item_id in chosen)
    grader = Grader(chat, judge, rubric, JudgeCache(home.settings.judge_cache_dir), options.prices)
    grades: list[Grade] = []
    with in_threads(grader.grade, predictions, num_threads=options.concurrency) as results:
        for grade in results:
            grades.append(grade)
            on_graded(len(grades), len(predictions))
            _stop_if_failing(grades)
    report = _report(evaluation, grader, predictions, grades)
    path = _report_path(home.settings, reference, report)
    write_json_atomically(path, report.to_json(), what="writing the grades")
    return report, path


def judge_base_url(settings: Settings, flag: str | None) -> str:
    """The judge's endpoint, from the command line or the environment.

    Raises:
        InvalidInputError: None is configured, or it is not the URL of an endpoint.
    """
    url = flag or settings.judge_base_url
    if not url:
        raise InvalidInputError(
            "No judge is configured: rubrics are graded by a model behind an OpenAI-compatible endpoint.",
            next_step="Give --base-url or set TUNIX_RT_JUDGE_BASE_URL, e.g. to http://127.0.0.1:8000/v1.",
        )
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or "@" in parts.netloc:
        raise InvalidInputError(
            "The judge's base URL must be http(s)://host[:port]/path, without a key or a query in it.",
            next_step="Put the key into TUNIX_RT_JUDGE_API_KEY.",
        )
    return url.rstrip("/")


def judge_api_key(settings: Settings) -> SecretStr | None:
    """The API key from the environment; a local endpoint may need none."""
    if settings.judge_api_key is not None:
        return settings.judge_api_key
    key = os.environ.get("OPENAI_API_KEY")
    return SecretStr(key) if key else None


def _stop_if_failing(grades: Sequence[Grade]) -> None:
    """Raise JudgeError after too many consecutive endpoint failures: more requests would waste time."""
    last = grades[-MAX_FAILURES_IN_A_ROW:]
    failures = [grade.failure for grade in last if grade.failure and grade.failure.code in _ENDPOINT_FAILURES]
    if len(failures) == MAX_FAILURES_IN_A_ROW:
        raise JudgeError(
            f"The judge failed {len(failures)} times in a row. Last failure: {failures[-1].detail}.",
            next_step="Check the endpoint, then repeat the command: finished grades are kept.",
        )


def _report(
    evaluation: Evaluation, grader: Grader, predictions: Sequence[Prediction], grades: Sequence[Grade]
) -> RubricReport:
    usage = sum((grade.usage for grade in grades), JudgeUsage())
    usage_now = sum((grade.usage for grade in grades if not grade.is_cached), JudgeUsage())
    return RubricReport(
        created_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        evaluation_id=evaluation.evaluation_id,
        predictions_hash=evaluation.predictions_hash,
        judge=grader.judge,
        parameters_left_out=tuple(sorted(grader.unsupported)),
        rubric=grader.rubric,
        rubric_hash=grader.rubric.content_hash,
        prompts_hash=json_hash([grading_messages(grader.rubric, prediction) for prediction in predictions]),
        num_texts=len(grades),
        num_graded=sum(grade.failure is None for grade in grades),
        failures=failure_counts(grades),
        criteria=criterion_means(grader.rubric, grades),
        usage=usage,
        usage_of_this_run=usage_now,
        prices=grader.prices,
        cost=usage.cost(grader.prices),
        cost_of_this_run=usage_now.cost(grader.prices),
        grades=tuple(grades),
    )


def _report_path(settings: Settings, reference: str, report: RubricReport) -> Path:
    """In the named evaluation directory, else in that of the evaluation in the home directory."""
    directory = named_directory(reference)
    # A run directory holds an evaluation too, but its manifest lists every file in it.
    if directory is None or not (directory / EVALUATION_FILE).is_file() or RunDir(directory).recipe.exists():
        directory = settings.evaluations_dir / str(report.evaluation_id)
    judge = re.sub(r"[^A-Za-z0-9._-]+", "-", report.judge.model).strip(".-") or "judge"
    return directory / "judgements" / report.rubric.name / f"{judge}.json"
