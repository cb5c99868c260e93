"""Checks of the evaluation: it is of these weights, and on questions that were not trained on."""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic_core import from_json

from tunix_rt.base.assets import shipped_evalset_names, shipped_evalset_path
from tunix_rt.base.errors import DataError
from tunix_rt.datasets.contamination import ContaminationChecker, EvalSet
from tunix_rt.datasets.evalsets import load_evalset
from tunix_rt.datasets.rows import question_of
from tunix_rt.datasets.types import evalset_hash
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.evaluation.types import Evaluation, EvaluationStart, generation_figures
from tunix_rt.evidence.checks.run import read_dataset
from tunix_rt.evidence.reader import Contents
from tunix_rt.evidence.types import EvidenceManifest

WEIGHTS = "model/*.safetensors"
_ADAPTER_CONFIG = "model/adapter_config.json"
_CHUNK_BYTES = 1 << 20
_MAX_OVERLAPS = 5
CLOCK_SLACK = timedelta(minutes=5)
"""The evaluation may have been made on another machine, with another clock."""


def evaluation_problems(
    contents: Contents, evidence: EvidenceManifest, registered: Mapping[str, Path]
) -> Iterator[str]:
    """Contradictions between the evaluation, the run, and the eval set.

    Args:
        contents: of the bundle.
        evidence: its manifest.
        registered: eval sets of the verifier, by name.
    """
    manifest, evaluation = contents.manifest(), contents.evaluation()
    yield from _identity_problems(manifest, evaluation)
    yield from _weights_problems(contents, evaluation, evidence)
    if evaluation.fingerprint != evaluation.protocol.fingerprint:
        yield "evaluation.json: the fingerprint does not match its protocol"
    predictions = evidence.file("predictions.jsonl")
    if predictions is not None and predictions.sha256 != evaluation.predictions_hash:
        yield "predictions.jsonl is not the file that evaluation.json was computed from"
    yield from _generation_problems(contents, evaluation)
    if contents.has("eval_request.json"):
        yield from _request_problems(contents.evaluation_start(), evaluation)
    yield from _time_problems(contents, manifest, evaluation, evidence)
    if contents.has("evalset.jsonl"):
        yield from _evalset_problems(contents, evaluation, registered)
        yield from _overlap_problems(contents, evaluation)


def _identity_problems(manifest: RunManifest, evaluation: Evaluation) -> Iterator[str]:
    model = evaluation.model
    if model.run_id != manifest.run_id or model.origin != "run":
        yield f"evaluation.json belongs to {model.name}, not to this run"
    pairs = {
        "name": (model.name, manifest.run_id),
        "base_model": (model.base_model, manifest.model),
        "dataset": (model.dataset, manifest.dataset),
        "recipe": (model.recipe, manifest.recipe),
    }
    for name, (stated, expected) in pairs.items():
        if stated != expected:
            yield f"evaluation.json has the {name} {stated}, run_manifest.json {expected}"
    if model.is_adapter != (_ADAPTER_CONFIG in manifest.files):
        yield f"evaluation.json has is_adapter {model.is_adapter}, which is not what the run exported"
    if model.dataset_hash != manifest.dataset_hash:
        yield "evaluation.json belongs to a model that was trained on other data"
    if model.weights != "pretrained":
        yield f"evaluation.json belongs to {model.weights} weights, not to those that were trained"


def _weights_problems(
    contents: Contents, evaluation: Evaluation, evidence: EvidenceManifest
) -> Iterator[str]:
    """The evaluated weights are those that the run exported, whether the bundle contains them or not."""
    model, trained = evaluation.model, contents.manifest().files
    if model.weights_hash is None:
        yield "evaluation.json does not name the weights that were evaluated"
        return
    exported = {path: digest for path, digest in trained.items() if fnmatchcase(path, WEIGHTS)}
    if model.weight_files is not None:
        # An adapter was evaluated on its base, which is not part of the run.
        folder = "adapter/" if model.is_adapter else "model/"
        evaluated = {
            f"model/{path.removeprefix(folder)}": digest
            for path, digest in model.weight_files.items()
            if path.startswith(folder)
        }
        if evaluated != exported:
            yield "evaluation.json has other weights than the run exported"
    elif evidence.evidence_version != "1":
        yield "evaluation.json does not name the files of the weights; evaluate the run again"
    packed = sorted(path for path in contents.bundle.sizes if fnmatchcase(path, WEIGHTS))
    # The hash of an adapter also covers its base, which is not in the bundle.
    if packed and not model.is_adapter:
        digest = hashlib.sha256()
        for path in packed:
            digest.update(f"{path} {contents.bundle.sizes[path]}\n".encode())
            with contents.bundle.open(path) as file:
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
        if digest.hexdigest() != model.weights_hash:
            yield "the weights in model/ are not those that were evaluated"


def _generation_problems(contents: Contents, evaluation: Evaluation) -> Iterator[str]:
    if not contents.has("predictions.jsonl"):
        return
    num_new_tokens, limit = 0, evaluation.protocol.decoding.max_new_tokens
    for prediction in contents.predictions():
        generation = prediction.generation
        num_new_tokens += generation.num_new_tokens
        if generation.num_new_tokens > limit:
            yield f"{prediction.item_id}: {generation.num_new_tokens} new tokens; the limit was {limit}"
        if generation.num_reasoning_tokens > generation.num_new_tokens:
            yield f"{prediction.item_id}: more reasoning tokens than new tokens"
    stated = evaluation.generation
    if stated is None:
        yield "evaluation.json does not say how the answers were generated"
    elif stated.num_new_tokens != num_new_tokens:
        yield f"evaluation.json has {stated.num_new_tokens} new tokens, predictions.jsonl {num_new_tokens}"
    if contents.has("eval_log.jsonl"):
        again = generation_figures(list(contents.batches()), num_new_tokens=num_new_tokens)
        if again != stated:
            yield "evaluation.json has another device, precision, time or speed than eval_log.jsonl"


def _request_problems(start: EvaluationStart, evaluation: Evaluation) -> Iterator[str]:
    if start.evaluation_id != evaluation.evaluation_id or start.rescored_from != evaluation.rescored_from:
        yield "eval_request.json belongs to another evaluation"
    if start.evalset != evaluation.evalset:
        yield f"eval_request.json asked for the eval set {start.evalset}, not for {evaluation.evalset}"
    if start.model != evaluation.model:
        yield "eval_request.json asked for another model than evaluation.json has"
    for difference in start.protocol.differences(evaluation.protocol):
        yield f"eval_request.json and evaluation.json differ in {difference}"


def _time_problems(
    contents: Contents, manifest: RunManifest, evaluation: Evaluation, evidence: EvidenceManifest
) -> Iterator[str]:
    evaluated_at = evaluation.created_at
    if evaluated_at < manifest.finished_at - CLOCK_SLACK:
        yield f"the evaluation was made at {evaluated_at}, before the run ended at {manifest.finished_at}"
    if evidence.created_at < evaluated_at - CLOCK_SLACK:
        yield f"the bundle was packed at {evidence.created_at}, before the evaluation at {evaluated_at}"
    if not contents.has("eval_request.json"):
        return
    asked_at, figures = contents.evaluation_start().created_at, evaluation.generation
    if asked_at < manifest.finished_at - CLOCK_SLACK:
        yield f"the evaluation was requested at {asked_at}, before the run ended at {manifest.finished_at}"
    if asked_at > evaluated_at:
        yield f"the evaluation was made at {evaluated_at}, before it was requested at {asked_at}"
    passed_s = (evaluated_at - asked_at).total_seconds()
    if evaluation.rescored_from is None and figures is not None and figures.seconds > passed_s + 1:
        yield f"evaluation.json has {figures.seconds} s of generation within {passed_s:.1f} s"


def _evalset_problems(
    contents: Contents, evaluation: Evaluation, registered: Mapping[str, Path]
) -> Iterator[str]:
    items, name = contents.items(), evaluation.evalset
    stated = evaluation.protocol.evalset_hash
    if evalset_hash(items) != stated:
        yield "evalset.jsonl is not the eval set of the evaluation"
    if len(items) != evaluation.num_items:
        yield f"evaluation.json has {evaluation.num_items} questions, evalset.jsonl {len(items)}"
    shipped = {known: shipped_evalset_path(known) for known in shipped_evalset_names()}
    original = shipped.get(name) or registered.get(name)
    if original is None:
        return
    try:
        # An evaluation may be limited to the first questions.
        if evalset_hash(load_evalset(original)[: len(items)]) != stated:
            kind = "shipped" if name in shipped else "registered"
            yield f"evalset.jsonl is not the {kind} eval set {name}"
    except DataError as error:
        yield f"the registered eval set {name} cannot be read: {error.detail}"


def _overlap_problems(contents: Contents, evaluation: Evaluation) -> Iterator[str]:
    """Rows that were trained on and repeat a question."""
    if not contents.has("dataset/manifest.json"):
        return
    wanted = contents.resolved_recipe().data.split
    splits = [split for split in read_dataset(contents).splits if split.name == wanted]
    paths = [path for path in (f"dataset/{split.filename}" for split in splits) if contents.has(path)]
    if not paths:
        return
    evalset = EvalSet(evaluation.evalset, contents.items(), evaluation.protocol.evalset_hash)
    checker, num_overlaps = ContaminationChecker([evalset]), 0
    for path in paths:
        for number, line in contents.lines(path):
            found = checker.match(question_of(from_json(line)["prompt"]))
            if found is None:
                continue
            num_overlaps += 1
            if num_overlaps <= _MAX_OVERLAPS:
                yield f"{path}, line {number} is the question {found.item_id} of the eval set ({found.kind})"
    if num_overlaps > _MAX_OVERLAPS:
        yield f"{num_overlaps:,} rows that were trained on repeat questions of the eval set"
