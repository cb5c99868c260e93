"""Checks of the contents: run, dataset, figures and scores are consistent with each other."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.base.records import differences, flat
from tunix_rt.datasets.types import DatasetManifest, EvalItem, content_hash, evalset_hash
from tunix_rt.engines.training.types import RunEvent, RunManifest
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.evaluation.scoring.judgement import judge, protocol_versions
from tunix_rt.evaluation.scoring.scores import score
from tunix_rt.evaluation.types import Evaluation, Prediction
from tunix_rt.evidence.documents import croissant, devices_text, environment_text, lock_text, statement
from tunix_rt.evidence.reader import Contents, damaged
from tunix_rt.evidence.summary import eval_summary, figure_problems, success_headline, summary_problems
from tunix_rt.evidence.types import BundleProblem, Check, EvidenceManifest, check_of, kind_of
from tunix_rt.traces.linter.findings import EARLIER_LINTER_VERSIONS

CARD = "dataset/README.md"
_WEIGHTS = "model/*.safetensors"
_CHUNK_BYTES = 1 << 20
MAX_SCORED_BYTES = 1 << 30
"""Limit for predictions and eval set: their verdicts are in memory while the scores are computed."""
_SHOWN_CHARS = 60
_SCORED = ("evalset.jsonl", "predictions.jsonl")
RESAMPLING_TOLERANCE = 0.1
"""Allowed difference of either end of a bootstrap interval, as a share of its width. NumPy versions resample
differently; with 2,000 resamples, the ends differ by about 2 % of the width."""


def run_problems(contents: Contents, evidence: EvidenceManifest) -> Iterator[str]:
    """Contradictions between the files of the run."""
    manifest = contents.manifest()
    if (manifest.run_id, manifest.status) != (evidence.run_id, evidence.status):
        yield f"run_manifest.json belongs to the run {manifest.run_id}, which is {manifest.status}"
    # Every file of the run must be unchanged in the bundle, or named as left out.
    packed = {file.path: file.sha256 for file in evidence.files}
    left_out = {file.path: file.sha256 for file in evidence.left_out}
    for path, digest in manifest.files.items():
        if digest not in (packed.get(path), left_out.get(path)):
            is_known = path in packed or path in left_out
            what = "not what the run wrote" if is_known else "neither in the bundle nor named as left out"
            yield f"{path} is {what}"
    for path in sorted(packed.keys() - manifest.files.keys() - {"run_manifest.json"}):
        if (kind := kind_of(path)) is not None and kind.is_from_run:
            yield f"{path} is not among the files that the run wrote"
    yield from _end_problems(contents, manifest)
    if contents.has("environment.json") and contents.has("recipe.resolved.json"):
        yield from _environment_problems(contents, manifest)
    if contents.has("evaluation.json"):
        yield from _evaluation_problems(contents, manifest, evidence)


def _end_problems(contents: Contents, manifest: RunManifest) -> Iterator[str]:
    """The last event must agree with the manifest on how the run ended."""
    if not contents.has("events.jsonl"):
        return
    last: RunEvent | None = None
    for number, event in enumerate(contents.events()):
        if event.sequence != number:
            yield f"events.jsonl: event {number} has the number {event.sequence}"
        last = event
    if last is None:
        yield "events.jsonl is empty"
        return
    is_end = last.kind == "finished" and last.message == manifest.status
    if manifest.status == "failed":
        is_end = last.kind == "failed"
    if not is_end or last.details.get("exit_code") != manifest.exit_code:
        yield f"events.jsonl ends with {last.message!r}; run_manifest.json says {manifest.status}"


def _environment_problems(contents: Contents, manifest: RunManifest) -> Iterator[str]:
    environment, recipe = contents.environment(), contents.recipe()
    if environment.engine != manifest.engine:
        yield f"environment.json names the engine {environment.engine}, run_manifest.json {manifest.engine}"
    if environment.is_dirty and not contents.has("code.diff"):
        yield "the code had uncommitted changes, but code.diff is missing"
    if recipe.get("model", {}).get("name") != manifest.model:
        yield f"recipe.resolved.json names another model than {manifest.model}"
    regenerated = {
        "env_snapshot.txt": environment_text(environment),
        "gpu_snapshot.txt": devices_text(environment),
        "requirements.lock.txt": lock_text(environment) or "",
        "provenance.intoto.json": json_text(statement(manifest, environment, recipe).to_json()),
    }
    for path, text in regenerated.items():
        if contents.has(path) and contents.text(path) != text.encode():
            yield f"{path} does not match environment.json and run_manifest.json"


def _evaluation_problems(
    contents: Contents, manifest: RunManifest, evidence: EvidenceManifest
) -> Iterator[str]:
    evaluation = contents.evaluation()
    if evaluation.model.run_id != manifest.run_id:
        yield f"evaluation.json belongs to {evaluation.model.name}, not to this run"
    if evaluation.model.dataset_hash not in (None, manifest.dataset_hash):
        yield "evaluation.json belongs to a model that was trained on other data"
    if evaluation.fingerprint != evaluation.protocol.fingerprint:
        yield "evaluation.json: the fingerprint does not match its protocol"
    predictions = evidence.file("predictions.jsonl")
    if predictions is not None and predictions.sha256 != evaluation.predictions_hash:
        yield "predictions.jsonl is not the file that evaluation.json was computed from"
    if contents.has("evalset.jsonl") and evalset_hash(contents.items()) != evaluation.protocol.evalset_hash:
        yield "evalset.jsonl is not the eval set of the evaluation"
    stated = evaluation.model.weights_hash
    weights = sorted(path for path in contents.bundle.sizes if fnmatchcase(path, _WEIGHTS))
    # The hash of an adapter also covers its base, which is not in the bundle.
    if stated is not None and weights and not evaluation.model.is_adapter:
        digest = hashlib.sha256()
        for path in weights:
            digest.update(f"{path} {contents.bundle.sizes[path]}\n".encode())
            with contents.bundle.open(path) as file:
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
        if digest.hexdigest() != stated:
            yield "the weights in model/ are not those that were evaluated"


def dataset_problems(contents: Contents, evidence: EvidenceManifest) -> Iterator[str]:
    """Problems of the dataset that the run was trained on."""
    dataset = read_dataset(contents)
    if dataset.content_hash != contents.manifest().dataset_hash:
        yield f"the run was trained on other data than {dataset.dataset_key}"
    hashes = [(split.name, split.sha256) for split in dataset.splits]
    if content_hash(hashes) != dataset.content_hash:
        yield "the content hash of the dataset does not match its splits"
    left_out = {file.path: file.sha256 for file in evidence.left_out}
    packed = {file.path: file.sha256 for file in evidence.files}
    for split in dataset.splits:
        path = f"dataset/{split.filename}"
        if split.sha256 not in (packed.get(path), left_out.get(path)):
            yield f"{path} does not have the rows that the dataset was built with"
        elif path in packed and (count := sum(1 for _ in contents.lines(path))) != split.statistics.num_rows:
            yield f"{path} has {count:,} rows, not {split.statistics.num_rows:,}"
    if contents.has(CARD) and packed[CARD] != dataset.card_sha256:
        yield f"{CARD} is not the card that was built with the dataset"
    if contents.text("dataset/croissant.json") != json_text(croissant(dataset).to_json()).encode():
        yield "dataset/croissant.json does not match dataset/manifest.json"


def read_dataset(contents: Contents) -> DatasetManifest:
    """The manifest of the dataset."""
    path = "dataset/manifest.json"
    try:
        return DatasetManifest.model_validate_json(contents.text(path))
    except ValueError as error:
        raise damaged(path, "it is not a dataset manifest") from error


def json_text(value: object) -> str:
    """The canonical text of a derived JSON file; verification compares it byte for byte."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def metrics_problems(contents: Contents, evidence: EvidenceManifest) -> Iterator[str]:
    """Differences between metrics.jsonl and the manifest, the summary or the headline."""
    manifest, curve = contents.manifest(), contents.curve()
    yield from figure_problems(manifest, curve)
    if evidence.kind == "failure-report":
        return
    stated = contents.summary()
    yield from summary_problems(stated, eval_summary(manifest, curve, contents.evaluation()))
    if evidence.headline != success_headline(stated):
        yield "the headline of evidence.json does not match eval_summary.json"


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
            name, *values = next(differences(stated.to_json(), again.to_json()))
            mine, theirs = (
                text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…" for text in map(repr, values)
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
