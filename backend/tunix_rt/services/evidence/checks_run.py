"""Does what the run wrote agree with itself: manifest, events, environment, evaluation, dataset?"""

import hashlib
import json
from collections.abc import Iterator
from fnmatch import fnmatchcase

from tunix_rt.core.evidence.contents import kind_of
from tunix_rt.core.evidence.croissant import croissant
from tunix_rt.core.evidence.manifest import EvidenceManifest
from tunix_rt.core.evidence.provenance import statement
from tunix_rt.core.evidence.snapshots import devices_text, environment_text, lock_text
from tunix_rt.datasets.types import DatasetManifest, content_hash, evalset_hash
from tunix_rt.engines.training.types import RunEvent, RunManifest
from tunix_rt.services.evidence.reading import Contents, damaged

CARD = "dataset/README.md"
_SPLIT_PREFIX = "dataset/"
_WEIGHTS = "model/*.safetensors"
_CHUNK_BYTES = 1 << 20


def run_problems(contents: Contents, evidence: EvidenceManifest) -> Iterator[str]:
    """What the files of the run say about each other that is not true."""
    manifest = contents.manifest()
    if (manifest.run_id, manifest.status) != (evidence.run_id, evidence.status):
        yield f"run_manifest.json is of the run {manifest.run_id}, {manifest.status}"
    yield from _hash_problems(manifest, evidence)
    yield from _end_problems(contents, manifest)
    if contents.has("environment.json") and contents.has("recipe.resolved.json"):
        yield from _environment_problems(contents, manifest)
    if contents.has("evaluation.json"):
        yield from _evaluation_problems(contents, manifest, evidence)


def _hash_problems(manifest: RunManifest, evidence: EvidenceManifest) -> Iterator[str]:
    """Every file that the run wrote is here as it wrote it, or named as left out."""
    packed = {file.path: file.sha256 for file in evidence.files}
    left_out = {file.path: file.sha256 for file in evidence.left_out}
    for path, digest in manifest.files.items():
        if digest not in (packed.get(path), left_out.get(path)):
            is_here = path in packed or path in left_out
            yield f"{path} is {'not what the run wrote' if is_here else 'neither here nor named as left out'}"
    own = (path for path in packed if (kind := kind_of(path)) is not None and kind.is_from_run)
    for path in own:
        if path != "run_manifest.json" and path not in manifest.files:
            yield f"{path} is not among the files that the run wrote"


def _end_problems(contents: Contents, manifest: RunManifest) -> Iterator[str]:
    """The last event says how the run ended; the manifest must say the same."""
    if not contents.has("events.jsonl"):
        return
    last: RunEvent | None = None
    for number, event in enumerate(contents.events()):
        if event.sequence != number:
            yield f"events.jsonl: event {number} has the number {event.sequence}"
        last = event
    if last is None:
        yield "events.jsonl is empty"
    elif not _says(last, manifest):
        yield f"events.jsonl ends with {last.message!r}; run_manifest.json says {manifest.status}"


def _says(last: RunEvent, manifest: RunManifest) -> bool:
    if manifest.status == "failed":
        return last.kind == "failed" and last.details.get("exit_code") == manifest.exit_code
    is_end = last.kind == "finished" and last.message == manifest.status
    return is_end and last.details.get("exit_code") == manifest.exit_code


def _environment_problems(contents: Contents, manifest: RunManifest) -> Iterator[str]:
    environment, recipe = contents.environment(), contents.recipe()
    if environment.engine != manifest.engine:
        yield f"environment.json is of {environment.engine}; run_manifest.json of {manifest.engine}"
    if environment.is_dirty and not contents.has("code.diff"):
        yield "the code had changes that are not in its commit, and code.diff is missing"
    if recipe.get("model", {}).get("name") != manifest.model:
        yield f"recipe.resolved.json is of another model than {manifest.model}"
    made_again = {
        "env_snapshot.txt": environment_text(environment),
        "gpu_snapshot.txt": devices_text(environment),
        "requirements.lock.txt": lock_text(environment) or "",
        "provenance.intoto.json": json_text(statement(manifest, environment, recipe).to_json()),
    }
    for path, text in made_again.items():
        if contents.has(path) and contents.text(path) != text.encode():
            yield f"{path} does not follow from environment.json and run_manifest.json"


def _evaluation_problems(
    contents: Contents, manifest: RunManifest, evidence: EvidenceManifest
) -> Iterator[str]:
    evaluation = contents.evaluation()
    if evaluation.model.run_id != manifest.run_id:
        yield f"evaluation.json is of {evaluation.model.name}, not of this run"
    if evaluation.model.dataset_hash not in (None, manifest.dataset_hash):
        yield "evaluation.json is of a model that was trained on other data"
    if evaluation.fingerprint != evaluation.protocol.fingerprint:
        yield "evaluation.json: the fingerprint is not that of its protocol"
    predictions = evidence.file("predictions.jsonl")
    if predictions is not None and predictions.sha256 != evaluation.predictions_hash:
        yield "predictions.jsonl is not the file that evaluation.json was made from"
    if contents.has("evalset.jsonl") and evalset_hash(contents.items()) != evaluation.protocol.evalset_hash:
        yield "evalset.jsonl does not hold the questions that were asked"
    stated = evaluation.model.weights_hash
    # An adapter's hash also covers its base, which is not here.
    if (
        stated is not None
        and not evaluation.model.is_adapter
        and _weights_hash(contents) not in (None, stated)
    ):
        yield "the weights in model/ are not those that answered"


def _weights_hash(contents: Contents) -> str | None:
    """As the evaluation hashed them; None when they are not in the bundle."""
    paths = sorted(path for path in contents.bundle.sizes if fnmatchcase(path, _WEIGHTS))
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path} {contents.bundle.sizes[path]}\n".encode())
        with contents.bundle.open(path) as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    return digest.hexdigest() if paths else None


def dataset_problems(contents: Contents, evidence: EvidenceManifest) -> Iterator[str]:
    """What is wrong with the rows that the run was given."""
    dataset = read_dataset(contents)
    if dataset.content_hash != contents.manifest().dataset_hash:
        yield f"the run was trained on other data than {dataset.dataset_key}"
    hashes = [(split.name, split.sha256) for split in dataset.splits]
    if content_hash(hashes) != dataset.content_hash:
        yield "the content hash of the dataset does not follow from those of its splits"
    left_out = {file.path: file.sha256 for file in evidence.left_out}
    packed = {file.path: file.sha256 for file in evidence.files}
    for split in dataset.splits:
        path = f"{_SPLIT_PREFIX}{split.filename}"
        if split.sha256 not in (packed.get(path), left_out.get(path)):
            yield f"{path} does not have the rows that the dataset was built with"
        elif path in packed and (count := sum(1 for _ in contents.lines(path))) != split.statistics.num_rows:
            yield f"{path} has {count:,} rows, not {split.statistics.num_rows:,}"
    if contents.has(CARD) and packed[CARD] != dataset.card_sha256:
        yield f"{CARD} is not the card that was built with the dataset"
    if contents.text("dataset/croissant.json") != json_text(croissant(dataset).to_json()).encode():
        yield "dataset/croissant.json does not follow from dataset/manifest.json"


def read_dataset(contents: Contents) -> DatasetManifest:
    """The manifest of the dataset."""
    path = "dataset/manifest.json"
    try:
        return DatasetManifest.model_validate_json(contents.text(path))
    except ValueError as error:
        raise damaged(path, "it is no manifest of a dataset") from error


def json_text(value: object) -> str:
    """A derived JSON file as it is written: the one spelling that it is compared with."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
