"""Gather, check, publish."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tunix_rt import __version__
from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors, write_atomically, write_directory_atomically
from tunix_rt.base.files.copies import stream_zip
from tunix_rt.base.files.locks import is_held
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.files import dataset_dir
from tunix_rt.datasets.service import get_dataset
from tunix_rt.datasets.types import item_json
from tunix_rt.engines.training.run_dir import RunDir, read_manifest
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.rescore import items_of
from tunix_rt.evidence.check_run import json_text
from tunix_rt.evidence.documents import (
    CRATE_FILE,
    croissant,
    devices_text,
    environment_text,
    lock_text,
    ro_crate,
    statement,
)
from tunix_rt.evidence.files import BundleWriter, bundle_entries, open_bundle
from tunix_rt.evidence.page import PAGE_FILE, evidence_page
from tunix_rt.evidence.reader import Contents
from tunix_rt.evidence.sign import sign_bundle
from tunix_rt.evidence.summary import eval_summary, failure_headline, success_headline
from tunix_rt.evidence.types import (
    EVIDENCE_FILE,
    KINDS,
    BundleProblem,
    EvidenceManifest,
    EvidenceVerdict,
    LeftOutFile,
    kind_of,
)
from tunix_rt.evidence.verify import verify_evidence

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


_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_SHOWN = 20


@dataclass(frozen=True)
class PackRequest:
    """What is packed, and where it goes."""

    run_dir: RunDir
    to: Path | None = None
    """The bundle's directory. None: one in the home directory."""
    is_zip: bool = False
    """Write `<to>.zip` in its place."""
    is_failure_report: bool = False
    wanted: Wanted = field(default_factory=Wanted)
    private_key: Path | None = None
    """Signs the bundle."""


@dataclass(frozen=True)
class PackedEvidence:
    """A bundle that was checked, and where it is."""

    path: Path
    manifest: EvidenceManifest
    verdict: EvidenceVerdict


def pack_evidence(settings: Settings, request: PackRequest) -> PackedEvidence:
    """Write a bundle, whole or not at all. What is there was verified before it appeared.

    Raises:
        ConflictError: The run is being written, or something else is where the bundle should go.
        DataError: Something is missing or wrong; all of it is named.
    """
    run_dir = request.run_dir
    target = (request.to or settings.evidence_dir / evidence_id(run_dir.run_id)).absolute()
    result = target.with_name(f"{target.name}.zip") if request.is_zip else target
    _refuse_other_content(result, run_dir)
    with _held(run_dir), _staging(target, is_zip=request.is_zip) as staged:
        manifest = _fill(settings, run_dir, staged, request)
        verdict = verify_evidence(staged)
        if not verdict.passed:
            raise _refusal(run_dir.run_id, verdict.problems, is_success=not request.is_failure_report)
        if request.is_zip:
            zip_bundle(staged, result)
    return PackedEvidence(result, manifest, verdict)


@contextmanager
def _staging(target: Path, *, is_zip: bool) -> Iterator[Path]:
    """Where the bundle is made: it becomes the target, or goes when its zip is written."""
    what = "packing the evidence"
    if not is_zip:
        with write_directory_atomically(target, what=what) as staged:
            yield staged
        return
    with storage_errors(what):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            yield Path(folder)


def evidence_id(run_id: str) -> str:
    """The name of a run's bundle."""
    return _NOT_IN_AN_ID.sub("-", run_id).strip("-._")[:128] or "run"


def _fill(settings: Settings, run_dir: RunDir, staged: Path, request: PackRequest) -> EvidenceManifest:
    writer = BundleWriter(staged)
    gathering = Gathering(settings, run_dir, writer, request.wanted)
    run = gathering.gather()
    now = datetime.now(UTC)
    manifest = EvidenceManifest(
        evidence_id=evidence_id(run_dir.run_id),
        kind="failure-report" if request.is_failure_report else "evidence",
        headline=_headline(staged, run_dir.run_id, run),
        run_id=run_dir.run_id if run is None else run.run_id,
        status="failed" if run is None else run.status,
        created_at=now,
        tunix_rt_version=__version__,
        files=writer.files,
        left_out=tuple(sorted(gathering.left_out, key=lambda file: file.path)),
    )
    writer.write(PAGE_FILE, evidence_page(staged, manifest).encode())
    if run is not None:
        crate = ro_crate(run, manifest.headline, writer.files, now.isoformat())
        writer.write(CRATE_FILE, json_text(crate.to_json()).encode())
    manifest = manifest.model_copy(update={"files": writer.files}).sealed()
    writer.finish(manifest)
    if request.private_key is not None:
        sign_bundle(staged, request.private_key)
    writer.write_sums()
    return manifest


def _headline(staged: Path, run_id: str, run: RunManifest | None) -> str:
    if run is None or run.status != "succeeded":
        return failure_headline(run_id, run)
    with open_bundle(staged) as bundle:
        contents = Contents(bundle)
        return success_headline(contents.summary()) if contents.has("eval_summary.json") else run_id


def run_in_home(settings: Settings, run_id: str) -> RunDir:
    """A run of the home directory.

    Raises:
        NotFoundError: There is no such run.
    """
    run_dir = RunDir(settings.runs_dir / run_id)
    if not run_dir.recipe.is_file():
        raise NotFoundError(
            f"There is no run {run_id!r}.",
            next_step="`tunix-rt runs list` shows the ids; a run directory works too.",
        )
    return run_dir


def run_by_id_or_path(settings: Settings, run: str) -> RunDir:
    """A run of the home directory, or one anywhere else by its path.

    Raises:
        NotFoundError: There is no such run.
    """
    elsewhere = RunDir(Path(run).absolute())
    return elsewhere if elsewhere.recipe.is_file() else run_in_home(settings, run)


@contextmanager
def _held(run_dir: RunDir) -> Iterator[None]:
    """Keep an evaluation from joining the run, and a second bundle from being packed, meanwhile."""
    if is_held(run_dir.path):
        raise ConflictError(
            f"The run {run_dir.run_id} is being written or packed.",
            next_step="Pack it when that has ended.",
        )
    if not os.access(run_dir.path, os.W_OK):
        yield  # nobody can write there
        return
    with run_dir.held():
        yield


def _refuse_other_content(path: Path, run_dir: RunDir) -> None:
    """Only an earlier bundle of the same run may be replaced, and nothing goes into the run itself."""
    is_inside = path.resolve().is_relative_to(run_dir.path.resolve())
    is_free = not path.exists() or (path.is_dir() and not any(path.iterdir()))
    if is_inside or not (is_free or _is_bundle_of(path, run_dir)):
        what = "is inside the run" if is_inside else "holds something else than a bundle of this run"
        raise ConflictError(f"{path} {what}.", next_step="Name a new directory with --to.")


def _is_bundle_of(path: Path, run_dir: RunDir) -> bool:
    try:
        with open_bundle(path) as bundle:
            found = EvidenceManifest.model_validate_json(Contents(bundle).text(EVIDENCE_FILE))
    except (DataError, ValueError):
        return False
    return found.evidence_id == evidence_id(run_dir.run_id)


def _refusal(run_id: str, problems: tuple[BundleProblem, ...], *, is_success: bool) -> DataError:
    shown = "".join(f"\n- {problem.detail}" for problem in problems[:_MAX_SHOWN])
    steps = [problem.next_step for problem in problems if problem.next_step is not None]
    what = "evidence" if is_success else "a failure report"
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return DataError(
        f"The run {run_id} cannot be packed as {what}: {count}.{shown}",
        next_step=steps[0] if steps else "Repair what is named, or run it again.",
    )


def zip_bundle(directory: Path, path: Path) -> None:
    """Write a bundle as a zip file, whole or not at all."""
    with write_atomically(path, what="writing the zip") as file:
        file.writelines(stream_zip(bundle_entries(directory)))
