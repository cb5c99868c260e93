"""Check of the scores: every answer is judged again from its raw text."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.base.records import differences, flat
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.evaluation.scoring.judgement import judge, protocol_versions
from tunix_rt.evaluation.scoring.scores import score
from tunix_rt.evaluation.types import Evaluation, Prediction
from tunix_rt.evidence.reader import Contents, damaged
from tunix_rt.evidence.types import BundleProblem, Check, check_of
from tunix_rt.traces.linter.findings import EARLIER_LINTER_VERSIONS

MAX_SCORED_BYTES = 1 << 30
"""Limit for predictions and eval set: their verdicts are in memory while the scores are computed."""
_SHOWN_CHARS = 60
_SCORED = ("evalset.jsonl", "predictions.jsonl")
RESAMPLING_TOLERANCE = 0.1
"""Allowed difference of either end of a bootstrap interval, as a share of its width. NumPy versions resample
differently; with 2,000 resamples, the ends differ by about 2 % of the width."""


def check_scores(contents: Contents) -> Check:
    """Judge every answer again from its raw text with the current checkers, and recompute all scores."""
    too_large = [path for path in _SCORED if contents.bundle.sizes[path] > MAX_SCORED_BYTES]
    if too_large:
        raise damaged(too_large[0], f"files of more than {MAX_SCORED_BYTES:,} bytes are not scored")
    evaluation, items = contents.evaluation(), contents.items()
    try:
        require_checkers(items)
    except MissingExtraError as error:
        return check_of("scores", "", [BundleProblem(detail=error.detail, next_step=error.next_step)])
    judged: list[Prediction] = []
    advice, stated, current = None, evaluation.protocol.versions, protocol_versions(items)
    checks_steps = stated.get("linter") not in EARLIER_LINTER_VERSIONS
    problems = [
        *_judge_problems(evaluation, items, contents.predictions(), judged, checks_steps=checks_steps),
        *_score_problems(evaluation, judged),
    ]
    # Other versions of the checkers may give other verdicts for a valid bundle.
    if current != stated:
        was, now = (
            ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
            for versions in (stated, current)
        )
        advice = (
            f"The bundle was scored with {was}, but this tunix-rt has {now}: "
            f"verify it with tunix-rt {evaluation.tunix_rt_version}."
        )
    found = [BundleProblem(detail=problem, next_step=advice) for problem in problems]
    detail = f"{len(judged):,} answers scored again"
    if not checks_steps:
        detail += f"; the verdicts on their steps are those of linter {stated['linter']}"
    return check_of("scores", detail, found)


def _judge_problems(
    evaluation: Evaluation,
    items: tuple[EvalItem, ...],
    predictions: Iterator[Prediction],
    judged: list[Prediction],
    *,
    checks_steps: bool,
) -> Iterator[str]:
    """Judge the predictions one at a time; `judged` receives only what the scores need.

    An earlier version of the linter may have read the steps differently, so its verdicts on them are kept.
    """
    by_id = {item.id: item for item in items}
    seen = set()
    for stated in predictions:
        key = (stated.item_id, stated.sample)
        item = by_id.get(stated.item_id)
        if item is None or key in seen:
            problem = "is not in the eval set" if item is None else "is duplicated"
            yield f"{stated.item_id}, sample {stated.sample}: {problem}"
            continue
        seen.add(key)
        again = judge(item, stated.generation, evaluation.protocol)
        if not checks_steps:
            again = _with_step_verdicts(again, stated)
        judged.append(_without_texts(again))
        if again != stated:
            # Figures that differ only in their last digits are equal.
            for name, *values in islice(differences(stated.to_json(), again.to_json()), 1):
                mine, theirs = (
                    text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
                    for text in map(repr, values)
                )
                yield f"{stated.item_id}: {name} is {mine}; scored again it is {theirs}"
    expected = len(by_id) * evaluation.protocol.decoding.num_samples
    if len(seen) != expected:
        yield f"{len(seen):,} answers for {expected:,} questions and samples"


def _with_step_verdicts(prediction: Prediction, stated: Prediction) -> Prediction:
    """The prediction with the verdicts that are stated for the same steps."""
    steps, others = prediction.judgement.steps, stated.judgement.steps
    if [step.text for step in steps] != [step.text for step in others]:
        return prediction
    return prediction.model_copy(
        update={"judgement": prediction.judgement.model_copy(update={"steps": others})}
    )


def _score_problems(evaluation: Evaluation, judged: list[Prediction]) -> Iterator[str]:
    again = score(judged, has_lenient_rules=bool(evaluation.protocol.extraction.lenient_rules))
    stated = evaluation.scores.to_json()
    for key, mine, theirs in differences(stated, again.to_json()):
        if not is_within_resampling_error(stated, key, theirs):
            yield f"evaluation.json has {key} {mine}; scored again it is {theirs}"


def is_within_resampling_error(scores: Mapping[str, Any], key: str, again: object) -> bool:
    """Whether `key` is an end of a bootstrap interval, and `again` is within its resampling error."""
    stated = flat(scores)
    name, _, end = key.rpartition(".")
    low, high = stated.get(f"{name}.low"), stated.get(f"{name}.high")
    if stated.get(f"{name}.method") != "bootstrap-by-item" or end not in ("low", "high"):
        return False
    if not (isinstance(low, float) and isinstance(high, float) and isinstance(again, float)):
        return False
    return abs(again - (low if end == "low" else high)) <= RESAMPLING_TOLERANCE * (high - low)


def _without_texts(prediction: Prediction) -> Prediction:
    """Drop the texts to save memory: scores need only verdicts and counts."""
    steps = tuple(step.model_copy(update={"text": ""}) for step in prediction.judgement.steps)
    return prediction.model_copy(
        update={
            "prompt": "",
            "generation": prediction.generation.model_copy(
                update={"text": None if prediction.generation.text is None else ""}
            ),
            "judgement": prediction.judgement.model_copy(update={"steps": steps, "explanation": ""}),
        }
    )
