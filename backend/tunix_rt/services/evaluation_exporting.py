"""An evaluation in the two files that lm-evaluation-harness writes, for the tools that read those.

samples_<eval set>_<time>.jsonl   a line an item: document, prompt, completions, filtered answers, verdict
results_<time>.json               the scores by task
"""

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from tunix_rt.base.files.atomic import write_atomically, write_json_atomically
from tunix_rt.base.home import Home
from tunix_rt.core.evaluation.prediction import Prediction
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.db.evaluations import EvaluationRepository
from tunix_rt.engines.types import Decoding

METRIC = "exact_match"
FILTER = "extracted"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def export_evaluation(home: Home, evaluation: Evaluation, directory: Path) -> tuple[Path, Path]:
    """Write both files; their paths, samples first."""
    task = _NOT_IN_A_NAME.sub("-", evaluation.evalset)
    moment = evaluation.created_at.replace(tzinfo=None).isoformat().replace(":", "-")
    samples = directory / f"samples_{task}_{moment}.jsonl"
    results = directory / f"results_{moment}.json"
    lines = list(_samples(home, evaluation))
    with write_atomically(samples, what="exporting the samples") as file:
        file.writelines(f"{_dumped(line)}\n".encode() for line in lines)
    write_json_atomically(results, results_json(evaluation, task, lines), what="exporting the results")
    return samples, results


def iter_samples(home: Home, evaluation: Evaluation) -> Iterator[str]:
    """The lines of the samples file, in the order of the eval set."""
    return map(_dumped, _samples(home, evaluation))


def _samples(home: Home, evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    predictions = EvaluationRepository(home.database).iter_predictions(evaluation.evaluation_id)
    by_item = groupby(predictions, key=lambda prediction: prediction.item_id)
    for number, (_, samples) in enumerate(by_item):
        yield sample_json(number, list(samples), evaluation.protocol.decoding)


def sample_json(number: int, samples: list[Prediction], decoding: Decoding) -> dict[str, Any]:
    """One item with its completions. An item that could not be scored has no `exact_match`."""
    first = samples[0]
    document = {
        "id": first.item_id,
        "prompt": first.prompt,
        "expected_answer": first.expected_answer,
        "section": first.section,
        "category": first.category,
        "difficulty": first.difficulty,
    }
    scored = [sample.judgement for sample in samples if sample.judgement.is_scored]
    verdict = sum(judgement.is_correct for judgement in scored) / len(scored) if scored else None
    return {
        "doc_id": number,
        "doc": document,
        "target": first.expected_answer,
        "arguments": {"gen_args_0": {"arg_0": first.prompt, "arg_1": _generation_kwargs(decoding)}},
        "resps": [[sample.generation.text or "" for sample in samples]],
        "filtered_resps": [sample.judgement.answer or "" for sample in samples],
        "filter": FILTER,
        "metrics": [METRIC],
        "doc_hash": _sha256(json.dumps(document, indent=2, ensure_ascii=False)),
        "prompt_hash": _sha256(first.prompt),
        "target_hash": _sha256(first.expected_answer),
        **({} if verdict is None else {METRIC: verdict}),
    }


def results_json(evaluation: Evaluation, task: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """The scores of the evaluation as those of one task."""
    values = [sample[METRIC] for sample in samples if METRIC in sample]
    scores: dict[str, Any] = {"alias": task}
    if values:
        scores[f"{METRIC},{FILTER}"] = fmean(values)
    if len(values) > 1:
        scores[f"{METRIC}_stderr,{FILTER}"] = stdev(values) / len(values) ** 0.5
    hashes = [sample[name] for sample in samples for name in ("doc_hash", "prompt_hash", "target_hash")]
    return {
        "results": {task: scores},
        "configs": {
            task: {
                "task": task,
                "output_type": "generate_until",
                "generation_kwargs": _generation_kwargs(evaluation.protocol.decoding),
                "repeats": evaluation.protocol.decoding.num_samples,
                "num_fewshot": 0,
            }
        },
        "n-shot": {task: 0},
        "higher_is_better": {task: {METRIC: True}},
        "n-samples": {task: {"original": evaluation.num_items, "effective": evaluation.num_items}},
        "date": evaluation.created_at.timestamp(),
        "model_name": evaluation.model.name,
        "task_hashes": {task: _sha256("".join(hashes))},
    }


def _generation_kwargs(decoding: Decoding) -> dict[str, Any]:
    return {
        "do_sample": decoding.temperature > 0,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "max_gen_toks": decoding.max_new_tokens,
    }


def _dumped(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
