"""Checks of the run, its dataset and its figures: the files are consistent with each other."""

from collections.abc import Iterator

from tunix_rt.datasets.types import DatasetManifest, content_hash
from tunix_rt.engines.training.types import RunEvent, RunManifest
from tunix_rt.evidence.documents import (
    croissant,
    devices_text,
    environment_text,
    json_text,
    lock_text,
    statement,
)
from tunix_rt.evidence.reader import Contents, damaged
from tunix_rt.evidence.summary import eval_summary, figure_problems, success_headline, summary_problems
from tunix_rt.evidence.types import EvidenceManifest, kind_of

CARD = "dataset/README.md"


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


def dataset_problems(contents: Contents, evidence: EvidenceManifest) -> Iterator[str]:
    """Problems of the dataset that the run was trained on."""
    dataset = read_dataset(contents)
    run = contents.manifest()
    if dataset.dataset_key != run.dataset:
        yield f"dataset/manifest.json is {dataset.dataset_key}, the run was trained on {run.dataset}"
    if dataset.content_hash != run.dataset_hash:
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
