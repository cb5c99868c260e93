"""Do the figures follow from the lines, and the scores from the texts?"""

from collections.abc import Iterator, Mapping
from typing import Any

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.base.records import differences, flat
from tunix_rt.core.evidence.figures import figure_problems, summary_problems
from tunix_rt.core.evidence.manifest import EvidenceManifest
from tunix_rt.core.evidence.summary import eval_summary
from tunix_rt.core.evidence.verdict import BundleProblem, Check, check_of
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.evaluation.scoring.judgement import judge, protocol_versions
from tunix_rt.evaluation.scoring.scores import score
from tunix_rt.evaluation.types import Evaluation, Prediction
from tunix_rt.services.evidence.headlines import success_headline
from tunix_rt.services.evidence.reading import Contents, damaged

MAX_SCORED_BYTES = 1 << 30
"""Of the answers, or of the questions: their verdicts are in memory while the scores are made."""
_SCORED = ("evalset.jsonl", "predictions.jsonl")
DRAWN_APART = 0.1
"""Share of its width by which either end of a drawn interval may differ. Versions of NumPy draw differently;
two drawings of 2,000 resamples put an end 2 % of the width apart, give or take."""


def metrics_problems(contents: Contents, evidence: EvidenceManifest) -> Iterator[str]:
    """What manifest, summary or headline say otherwise than metrics.jsonl."""
    manifest, curve = contents.manifest(), contents.curve()
    yield from figure_problems(manifest, curve)
    if evidence.kind == "failure-report":
        return
    stated = contents.summary()
    yield from summary_problems(stated, eval_summary(manifest, curve, contents.evaluation()))
    if evidence.headline != success_headline(stated):
        yield "the headline of evidence.json does not follow from eval_summary.json"


def check_scores(contents: Contents) -> Check:
    """Every answer, judged again from its raw text by the checkers of today, and all scores made of it."""
    too_large = [path for path in _SCORED if contents.bundle.sizes[path] > MAX_SCORED_BYTES]
    if too_large:
        raise damaged(too_large[0], f"more than {MAX_SCORED_BYTES:,} bytes are not scored")
    evaluation, items = contents.evaluation(), contents.items()
    try:
        require_checkers(items)
    except MissingExtraError as error:
        return check_of("scores", "", [BundleProblem(detail=error.detail, next_step=error.next_step)])
    rescorer = _Rescorer(evaluation, items)
    problems = [*rescorer.problems(contents.predictions()), *rescorer.score_problems()]
    advice = _advice(evaluation, items)
    found = [BundleProblem(detail=problem, next_step=advice) for problem in problems]
    return check_of("scores", f"{rescorer.num_judged:,} answers scored again", found)


class _Rescorer:
    """Judges one prediction at a time and keeps of each only what the scores need."""

    def __init__(self, evaluation: Evaluation, items: tuple[EvalItem, ...]) -> None:
        self._evaluation = evaluation
        self._items = {item.id: item for item in items}
        self._judged: list[Prediction] = []

    @property
    def num_judged(self) -> int:
        return len(self._judged)

    def problems(self, predictions: Iterator[Prediction]) -> Iterator[str]:
        seen = set()
        for stated in predictions:
            key = (stated.item_id, stated.sample)
            item = self._items.get(stated.item_id)
            if item is None or key in seen:
                problem = "was not asked" if item is None else "is there twice"
                yield f"{stated.item_id}, sample {stated.sample}: {problem}"
                continue
            seen.add(key)
            again = judge(item, stated.generation, self._evaluation.protocol)
            self._judged.append(_without_texts(again))
            if again != stated:
                yield f"{stated.item_id}: {_difference(stated, again)}"
        expected = len(self._items) * self._evaluation.protocol.decoding.num_samples
        if len(seen) != expected:
            yield f"{len(seen):,} answers for {expected:,} questions and samples"

    def score_problems(self) -> Iterator[str]:
        lenient = bool(self._evaluation.protocol.extraction.lenient_rules)
        again = score(self._judged, has_lenient_rules=lenient)
        stated = self._evaluation.scores.to_json()
        for key, mine, theirs in differences(stated, again.to_json()):
            if not is_drawn_alike(stated, key, theirs):
                yield f"evaluation.json says {key} {mine}; scored again it is {theirs}"


def is_drawn_alike(scores: Mapping[str, Any], key: str, again: object) -> bool:
    """Whether `key` is an end of a drawn interval, and drawing it again could have given `again`."""
    stated = flat(scores)
    name, _, end = key.rpartition(".")
    low, high = stated.get(f"{name}.low"), stated.get(f"{name}.high")
    if stated.get(f"{name}.method") != "bootstrap-by-item" or end not in ("low", "high"):
        return False
    if not (isinstance(low, float) and isinstance(high, float) and isinstance(again, float)):
        return False
    return abs(again - (low if end == "low" else high)) <= DRAWN_APART * (high - low)


def _without_texts(prediction: Prediction) -> Prediction:
    """The same without what takes memory: the scores are made of verdicts and counts."""
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


def _difference(stated: Prediction, again: Prediction) -> str:
    key, mine, theirs = next(differences(stated.to_json(), again.to_json()))
    return f"{key} is {_short(mine)}; scored again it is {_short(theirs)}"


def _short(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _advice(evaluation: Evaluation, items: tuple[EvalItem, ...]) -> str | None:
    """Other checkers may give other verdicts; then the bundle need not be wrong."""
    today = protocol_versions(items)
    if today == evaluation.protocol.versions:
        return None
    return (
        f"The bundle was scored with {_versions(evaluation.protocol.versions)}, this tunix-rt has "
        f"{_versions(today)}: check it with tunix-rt {evaluation.tunix_rt_version}."
    )


def _versions(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
