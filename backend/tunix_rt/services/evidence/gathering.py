"""What goes into a bundle: the run's own files, its data, its evaluation, and what follows from them."""

from dataclasses import dataclass
from pathlib import Path

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.base.settings import Settings
from tunix_rt.core.evidence.contents import KINDS, kind_of
from tunix_rt.core.evidence.croissant import croissant
from tunix_rt.core.evidence.manifest import LeftOutFile
from tunix_rt.core.evidence.provenance import statement
from tunix_rt.core.evidence.snapshots import devices_text, environment_text, lock_text
from tunix_rt.core.evidence.summary import eval_summary
from tunix_rt.datasets.files import dataset_dir
from tunix_rt.datasets.service import get_dataset
from tunix_rt.datasets.types import item_json
from tunix_rt.engines.training.run_dir import RunDir, read_manifest
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.rescore import items_of
from tunix_rt.files.evidence.bundle import open_bundle
from tunix_rt.files.evidence.writing import BundleWriter
from tunix_rt.services.evidence.checks_run import json_text
from tunix_rt.services.evidence.reading import Contents

_MODEL = "model/"
_CHECKPOINTS = "checkpoints/"
_REBUILD = (
    "Left out on request. `tunix-rt data build` with the spec in dataset/manifest.json makes it again; "
    "the same rows have the same SHA-256."
)


@dataclass(frozen=True)
class Wanted:
    """What may make a bundle large."""

    has_model: bool = False
    has_dataset: bool = True


class Gathering:
    """Fills a bundle from a run directory. What is not there is left out; the checks will say so."""

    def __init__(self, settings: Settings, run_dir: RunDir, writer: BundleWriter, wanted: Wanted) -> None:
        self._settings = settings
        self._run_dir = run_dir
        self._writer = writer
        self._wanted = wanted
        self.left_out: list[LeftOutFile] = []

    def gather(self) -> RunManifest | None:
        """Everything but the pages about it. The manifest of the run; None when it never ended."""
        manifest = read_manifest(self._run_dir)
        self._run_files(manifest)
        if manifest is not None:
            with open_bundle(self._writer.directory) as copied:
                contents = Contents(copied)
                self._derived_files(contents, manifest)
                self._evaluation(contents, manifest)
            self._dataset(manifest)
        return manifest

    def _run_files(self, manifest: RunManifest | None) -> None:
        """What the run wrote, byte for byte."""
        for kind in KINDS:
            source = self._run_dir.path / kind.pattern
            if kind.is_from_run and source.is_file():
                self._copy(kind.pattern, source, is_torn=manifest is None and kind.is_lines)
        if manifest is not None:
            for path, digest in manifest.files.items():
                self._model_or_reason(path, digest)

    def _derived_files(self, contents: Contents, manifest: RunManifest) -> None:
        """What follows from the run's own files."""
        if not (contents.has("environment.json") and contents.has("recipe.resolved.json")):
            return
        environment, recipe = contents.environment(), contents.recipe()
        self._writer.write("env_snapshot.txt", environment_text(environment).encode())
        self._writer.write("gpu_snapshot.txt", devices_text(environment).encode())
        lock = lock_text(environment)
        if lock is not None:
            self._writer.write("requirements.lock.txt", lock.encode())
        if manifest.status == "succeeded":
            self._json("provenance.intoto.json", statement(manifest, environment, recipe).to_json())

    def _evaluation(self, contents: Contents, manifest: RunManifest) -> None:
        """The questions, how they were asked, and the summary."""
        if not contents.has("evaluation.json"):
            return
        evaluation = contents.evaluation()
        try:
            items = items_of(self._settings, evaluation)
        except ConflictError:
            return  # nowhere to be found
        self._writer.write("evalset.jsonl", "".join(f"{item_json(item)}\n" for item in items).encode())
        kept = EvaluationDir(self._settings.evaluations_dir / str(evaluation.evaluation_id))
        for path, source in (("eval_request.json", kept.request), ("eval_log.jsonl", kept.batches)):
            if source.is_file():
                self._writer.copy(path, source)
        summary = (
            eval_summary(manifest, contents.curve(), evaluation) if contents.has("metrics.jsonl") else None
        )
        if summary is not None:
            self._json("eval_summary.json", summary.to_json())

    def _dataset(self, manifest: RunManifest) -> None:
        """The rows, or their hashes and how to have them again."""
        try:
            dataset = get_dataset(self._settings.datasets_dir, manifest.dataset)
        except (NotFoundError, DataError):
            return
        folder = dataset_dir(self._settings.datasets_dir, manifest.dataset)
        self._writer.copy("dataset/manifest.json", folder / "manifest.json")
        if (folder / "README.md").is_file():
            self._writer.copy("dataset/README.md", folder / "README.md")
        self._json("dataset/croissant.json", croissant(dataset).to_json())
        for split in dataset.splits:
            path = f"dataset/{split.filename}"
            if self._wanted.has_dataset:
                self._writer.copy(path, folder / split.filename)
            else:
                self.left_out.append(LeftOutFile(path=path, sha256=split.sha256, reason=_REBUILD))

    def _model_or_reason(self, path: str, digest: str) -> None:
        source = self._run_dir.path / path
        if path.startswith(_MODEL) and self._wanted.has_model and kind_of(path) is not None:
            if source.is_file():
                self._writer.copy(path, source)
            return
        if kind_of(path) is None or path.startswith(_MODEL):
            self.left_out.append(LeftOutFile(path=path, sha256=digest, reason=_reason(path)))

    def _copy(self, path: str, source: Path, *, is_torn: bool) -> None:
        if not is_torn:
            self._writer.copy(path, source)
            return
        # Its process was killed: the last line may have no end. A resume drops it as well.
        content = source.read_bytes()
        self._writer.write(path, content[: content.rfind(b"\n") + 1])

    def _json(self, path: str, value: object) -> None:
        self._writer.write(path, json_text(value).encode())


def _reason(path: str) -> str:
    if path.startswith(_MODEL):
        return "Part of the trained model: pack again with --with-model, or take it from the run's directory."
    if path.startswith(_CHECKPOINTS):
        return "A resumable state: it is in the run's directory, and nothing here depends on it."
    return "Not needed to check the run: it is in the run's directory."
