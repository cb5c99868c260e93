"""Builders for evaluations: predictions, records and whole directories, without a model."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tunix_rt.datasets.types import EvalItem
from tunix_rt.engines.types import Decoding
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.scoring.scores import score
from tunix_rt.evaluation.types import (
    CheckedStep,
    Evaluation,
    EvaluationStart,
    Extraction,
    Generation,
    GenerationFailure,
    Judgement,
    Prediction,
    Protocol,
    StepVerdict,
    Verdict,
)
from tunix_rt.models.types import EvaluatedModel

VERDICT_OF: dict[str, Verdict] = {"1": "correct", "0": "wrong", "-": "no-answer", "?": "unscored"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EXPECTED, ANOTHER = "18", "17"


def make_generation(item_id: str = "item-0", sample: int = 0, text: str | None = None) -> Generation:
    """A completion in the form that training teaches, or with `text=None` a failure."""
    if text is None:
        failure = GenerationFailure(code="prompt-too-long", detail="700 tokens of 512")
        return Generation(item_id=item_id, sample=sample, failure=failure)
    num_tokens = len(text.split())
    return Generation(
        item_id=item_id,
        sample=sample,
        text=text,
        finish="end-of-turn",
        num_prompt_tokens=7,
        num_new_tokens=num_tokens,
        num_reasoning_tokens=num_tokens - 1,
    )


def make_judgement(
    verdict: Verdict = "correct",
    *,
    answer: str | None = None,
    steps: Sequence[StepVerdict] = ("confirmed",),
    **values: Any,
) -> Judgement:
    """What is made of a text: 18 is right, 17 is wrong."""
    given = answer or {"correct": EXPECTED, "wrong": ANOTHER}.get(verdict)
    found = {} if given is None else {"answer": given, "rule": "answer-tag", "canonical": given}
    explanation = {"correct": f"{given} equals {EXPECTED}", "unscored": "the checker failed"}.get(verdict)
    defaults: dict[str, Any] = {
        "verdict": verdict,
        "is_well_formed": given is not None,
        "steps": tuple(CheckedStep(text=f"a {step} step", verdict=step) for step in steps),
        "explanation": explanation or f"not {EXPECTED}",
    }
    return Judgement(**defaults | found | values)


def make_prediction(
    item_id: str = "item-0", verdict: Verdict = "correct", *, sample: int = 0, **values: Any
) -> Prediction:
    """One prediction; `values` go to the prediction where it has such a field, else to its judgement."""
    own = {name: values.pop(name) for name in list(values) if name in Prediction.model_fields}
    judgement = make_judgement(verdict, **values)
    answer = judgement.answer or ""
    text = f"<reasoning>\n9 + 9 = 18\n</reasoning>\n<answer>{answer}</answer>"
    defaults: dict[str, Any] = {
        "item_id": item_id,
        "sample": sample,
        "prompt": f"What is 9 + 9? ({item_id})",
        "expected_answer": EXPECTED,
        "section": "core",
        "category": "addition",
        "difficulty": "easy",
        "generation": make_generation(item_id, sample, None if verdict == "unscored" else text),
        "judgement": judgement,
    }
    return Prediction(**defaults | own)


def make_predictions(verdicts: Iterable[str], **values: Any) -> list[Prediction]:
    """One entry an item, one character a sample: 1 right, 0 wrong, - no answer, ? unscored.

    Example:
        ["11", "1?"] -> items item-0 and item-1 with two samples each
        "110" -> three items with one sample each
    """
    return [
        make_prediction(f"item-{number}", VERDICT_OF[character], sample=sample, **values)
        for number, samples in enumerate(verdicts)
        for sample, character in enumerate(samples)
    ]


def make_protocol(**values: Any) -> Protocol:
    """The protocol of the built evaluations; greedy unless told otherwise."""
    defaults: dict[str, Any] = {
        "evalset_hash": "e" * 64,
        "template_hash": "c" * 64,
        "extraction": Extraction(rules=("answer-tag", "boxed")),
        "max_answer_chars": 10_000,
        "versions": {"extractor": "1", "checker.number": "1"},
    }
    return Protocol(**defaults | values)


def make_evaluation(
    predictions: Sequence[Prediction], *, name: str = "model-a", age_hours: int = 0, **values: Any
) -> Evaluation:
    """The record of `predictions`; its id depends on `name` only.

    Args:
        predictions: All of them.
        name: Of the model. A name that begins with `run-` is a run's, trained from `base-model`.
        age_hours: Older ones were made that much earlier.
        values: Any field of the record.
    """
    num_samples = max((prediction.sample + 1 for prediction in predictions), default=1)
    decoding = Decoding(num_samples=num_samples, temperature=0.0 if num_samples == 1 else 0.7)
    protocol = values.pop("protocol", None) or make_protocol(decoding=decoding)
    defaults: dict[str, Any] = {
        "evaluation_id": uuid5(NAMESPACE_URL, name),
        "created_at": NOON - timedelta(hours=age_hours),
        "tunix_rt_version": "0.1.0",
        "model": make_model(name),
        "evalset": "exam",
        "num_items": len({prediction.item_id for prediction in predictions}),
        "protocol": protocol,
        "fingerprint": protocol.fingerprint,
        "scores": score(predictions, has_lenient_rules=bool(protocol.extraction.lenient_rules)),
        "predictions_hash": hashlib.sha256(predictions_jsonl(predictions)).hexdigest(),
    }
    return Evaluation(**defaults | values)


def make_model(name: str = "model-a", **values: Any) -> EvaluatedModel:
    """A model from the hub, or with a name that begins with `run-` one of a run."""
    if not name.startswith("run-"):
        return EvaluatedModel(**{"name": name, "origin": "hub"} | values)
    made: dict[str, Any] = {"name": name, "origin": "run", "run_id": name, "base_model": "base-model"}
    return EvaluatedModel(**made | {"dataset": "sums-v1", "recipe": "tiny"} | values)


def predictions_jsonl(predictions: Iterable[Prediction]) -> bytes:
    """The file `predictions.jsonl`."""
    lines = (json.dumps(prediction.to_json(), ensure_ascii=False) for prediction in predictions)
    return "".join(f"{line}\n" for line in lines).encode()


def items_of(predictions: Iterable[Prediction]) -> list[EvalItem]:
    """The items that the predictions answer."""
    found = {prediction.item_id: prediction for prediction in predictions}
    names = ("prompt", "expected_answer", "section", "category", "difficulty")
    return [
        EvalItem.model_validate({"id": item_id} | {name: getattr(prediction, name) for name in names})
        for item_id, prediction in found.items()
    ]


def write_evaluation(
    directory: Path, verdicts: Iterable[str] | Sequence[Prediction], **values: Any
) -> Evaluation:
    """A complete evaluation directory of `make_predictions(verdicts)`, or of these very predictions.

    The model is called as the directory unless a `name` is given; `values` are those of `make_evaluation`.
    """
    given = list(verdicts)
    made = [one for one in given if isinstance(one, Prediction)]
    predictions = made or make_predictions(one for one in given if isinstance(one, str))
    evaluation = make_evaluation(predictions, **{"name": directory.name} | values)
    start = EvaluationStart(
        evaluation_id=evaluation.evaluation_id,
        created_at=evaluation.created_at,
        model=evaluation.model,
        evalset=evaluation.evalset,
        protocol=evaluation.protocol,
    )
    files = EvaluationDir(directory)
    files.begin(start, items_of(predictions))
    assert files.write_predictions(predictions) == evaluation.predictions_hash
    files.finish(evaluation)
    return evaluation
