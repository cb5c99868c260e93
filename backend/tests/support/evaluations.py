"""Builders of predictions, evaluations and evaluation directories, without a model."""

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
    """Return a generation with this text, or with `text=None` a failure."""
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
    """Return a judgement: the answer 18 is correct, 17 is wrong."""
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
    """Return a prediction. `values` set fields of the prediction if it has them, else of its judgement."""
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
    """Return predictions from one string per item with one character per sample.

    1 is correct, 0 wrong, - no answer, ? unscored.

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
    """Return a protocol, by default with greedy decoding."""
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
    """Return the evaluation of `predictions`. Its id depends only on `name`.

    Args:
        predictions: All predictions.
        name: The name of the model. A name with the prefix `run-` belongs to a run of `base-model`.
        age_hours: The age of the evaluation.
        values: Other fields of the evaluation.
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
    """Return a model from the hub, or with the prefix `run-` the model of a run."""
    if not name.startswith("run-"):
        return EvaluatedModel(**{"name": name, "origin": "hub"} | values)
    made: dict[str, Any] = {"name": name, "origin": "run", "run_id": name, "base_model": "base-model"}
    return EvaluatedModel(**made | {"dataset": "sums-v1", "recipe": "tiny"} | values)


def predictions_jsonl(predictions: Iterable[Prediction]) -> bytes:
    """Return the contents of `predictions.jsonl`."""
    lines = (json.dumps(prediction.to_json(), ensure_ascii=False) for prediction in predictions)
    return "".join(f"{line}\n" for line in lines).encode()


def items_of(predictions: Iterable[Prediction]) -> list[EvalItem]:
    """Return the eval items of the predictions."""
    found = {prediction.item_id: prediction for prediction in predictions}
    names = ("prompt", "expected_answer", "section", "category", "difficulty")
    return [
        EvalItem.model_validate({"id": item_id} | {name: getattr(prediction, name) for name in names})
        for item_id, prediction in found.items()
    ]


def write_evaluation(
    directory: Path, verdicts: Iterable[str] | Sequence[Prediction], **values: Any
) -> Evaluation:
    """Write a complete evaluation directory of `make_predictions(verdicts)` or of the given predictions.

    The model is named after the directory unless `name` is given. `values` are passed to `make_evaluation`.
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
