"""Pack a run into an evidence bundle: collect its files, verify the bundle, publish it."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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
from tunix_rt.evaluation.rescore import load_items
from tunix_rt.evidence.documents import (
    CRATE_FILE,
    croissant,
    devices_text,
    environment_text,
    json_text,
    lock_text,
    ro_crate,
    statement,
)
from tunix_rt.evidence.files import BundleWriter, bundle_entries, open_bundle
from tunix_rt.evidence.page import PAGE_FILE, evidence_page
from tunix_rt.evidence.reader import Contents
from tunix_rt.evidence.sign import key_id, public_key_of, sign_bundle
from tunix_rt.evidence.summary import EvalSummary, eval_summary, failure_headline, success_headline
from tunix_rt.evidence.types import (
    EVIDENCE_FILE,
    KINDS,
    EvidenceManifest,
    EvidenceVerdict,
    LeftOutFile,
    kind_of,
)
from tunix_rt.evidence.verify import verify_evidence

_MODEL = "model/"
# By the beginning of the path.
_REASONS = {
    _MODEL: "Part of the trained model: pack again with --with-model, or take it from the run's directory.",
    "checkpoints/": "A resumable state: it is in the run's directory, and nothing here depends on it.",
    "": "Not needed to check the run: it is in the run's directory.",
}
_REBUILD = (
    "Left out on request. `tunix-rt data build` with the spec in dataset/manifest.json makes it again; "
    "the same rows have the same SHA-256."
)


_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_SHOWN = 20


@dataclass(frozen=True)
class PackRequest:
    """What to pack, and where."""

    run_dir: RunDir
    to: Path | None = None
    """Directory of the bundle. None: one in the home directory."""
    is_zip: bool = False
    """Write `<to>.zip` instead of a directory."""
    is_failure_report: bool = False
    has_model: bool = False
    """Include the trained weights."""
    has_dataset: bool = True
    """False: leave out the rows and keep their hashes."""
    private_key: Path | None = None
    """Key that signs the bundle."""


@dataclass(frozen=True)
class PackedEvidence:
    """A verified bundle, and where it is."""

    path: Path
    manifest: EvidenceManifest
    verdict: EvidenceVerdict


def pack_evidence(settings: Settings, request: PackRequest) -> PackedEvidence:
    """Write a bundle atomically, after it was verified.

    Raises:
        ConflictError: The run is being written, or the target has other content.
        DataError: Files are missing or invalid; all problems are named.
    """
    run_dir = request.run_dir
    target = (request.to or settings.evidence_dir / evidence_id(run_dir.run_id)).absolute()
    result = target.with_name(f"{target.name}.zip") if request.is_zip else target
    _require_replaceable(result, run_dir)
    with _locked(run_dir), _staging(target, is_zip=request.is_zip) as staged:
        manifest = _BundleBuilder(settings, request, staged).build()
        verdict = verify_evidence(staged, evalsets_dir=settings.evalsets_dir)
        if not verdict.passed:
            problems = verdict.problems
            shown = "".join(f"\n- {problem.detail}" for problem in problems[:_MAX_SHOWN])
            steps = [problem.next_step for problem in problems if problem.next_step is not None]
            what = "a failure report" if request.is_failure_report else "evidence"
            count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
            raise DataError(
                f"The run {run_dir.run_id} cannot be packed as {what}: {count}.{shown}",
                next_step=steps[0] if steps else "Fix the named problems, or train the run again.",
            )
        if request.is_zip:
            zip_bundle(staged, result)
    return PackedEvidence(result, manifest, verdict)


@contextmanager
def _staging(target: Path, *, is_zip: bool) -> Iterator[Path]:
    """Staging directory; it becomes the target, or is removed after the zip was written."""
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
    """The id of a run's bundle."""
    return _NOT_IN_AN_ID.sub("-", run_id).strip("-._")[:128] or "run"


class _BundleBuilder:
    """Fills a bundle from a run directory. Missing files are skipped; the checks report them."""

    def __init__(self, settings: Settings, request: PackRequest, directory: Path) -> None:
        self._settings = settings
        self._request = request
        self._run_dir = request.run_dir
        self._writer = BundleWriter(directory)
        self._left_out: list[LeftOutFile] = []
        self._summary: EvalSummary | None = None

    def build(self) -> EvidenceManifest:
        run, run_id, writer = read_manifest(self._run_dir), self._run_dir.run_id, self._writer
        self._copy_run_files(run)
        if run is not None:
            with open_bundle(writer.directory) as copied:
                contents = Contents(copied)
                self._write_derived_files(contents, run)
                self._write_evaluation(contents, run)
            self._write_dataset(run)
        if run is None or run.status != "succeeded":
            headline = failure_headline(run_id, run)
        else:
            headline = run_id if self._summary is None else success_headline(self._summary)
        now, key = datetime.now(UTC), self._request.private_key
        manifest = EvidenceManifest(
            evidence_id=evidence_id(run_id),
            kind="failure-report" if self._request.is_failure_report else "evidence",
            headline=headline,
            run_id=run_id if run is None else run.run_id,
            status="failed" if run is None else run.status,
            created_at=now,
            tunix_rt_version=__version__,
            files=writer.files,
            left_out=tuple(sorted(self._left_out, key=lambda file: file.path)),
            signer=None if key is None else key_id(public_key_of(key)),
        )
        with open_bundle(writer.directory) as written:
            writer.add(PAGE_FILE, evidence_page(Contents(written), manifest).encode())
        if run is not None:
            self._add_json(CRATE_FILE, ro_crate(run, headline, writer.files, now.isoformat()).to_json())
        manifest = manifest.model_copy(update={"files": writer.files}).sealed()
        writer.finish(manifest)
        if key is not None:
            sign_bundle(writer.directory, key)
        writer.write_sums()
        return manifest

    def _copy_run_files(self, manifest: RunManifest | None) -> None:
        """Copy the files of the run unchanged."""
        for kind in KINDS:
            source = self._run_dir.path / kind.pattern
            if not (kind.is_from_run and source.is_file()):
                continue
            content: bytes | Path = source
            if manifest is None and kind.is_lines:
                # The process was killed: the last line may be incomplete. A resume drops it as well.
                content = source.read_bytes()
                content = content[: content.rfind(b"\n") + 1]
            self._writer.add(kind.pattern, content)
        if manifest is not None:
            for path, digest in manifest.files.items():
                source = self._run_dir.path / path
                if path.startswith(_MODEL) and self._request.has_model and kind_of(path) is not None:
                    if source.is_file():
                        self._writer.add(path, source)
                elif path.startswith(_MODEL) or kind_of(path) is None:
                    reason = next(why for prefix, why in _REASONS.items() if path.startswith(prefix))
                    self._left_out.append(LeftOutFile(path=path, sha256=digest, reason=reason))

    def _write_derived_files(self, contents: Contents, manifest: RunManifest) -> None:
        """Write the files that are derived from the files of the run."""
        if not (contents.has("environment.json") and contents.has("recipe.resolved.json")):
            return
        environment, recipe = contents.environment(), contents.recipe()
        self._writer.add("env_snapshot.txt", environment_text(environment).encode())
        self._writer.add("gpu_snapshot.txt", devices_text(environment).encode())
        lock = lock_text(environment)
        if lock is not None:
            self._writer.add("requirements.lock.txt", lock.encode())
        if manifest.status == "succeeded":
            self._add_json("provenance.intoto.json", statement(manifest, environment, recipe).to_json())

    def _write_evaluation(self, contents: Contents, manifest: RunManifest) -> None:
        """Write the eval set, the request and log of the evaluation, and the summary."""
        if not contents.has("evaluation.json"):
            return
        evaluation = contents.evaluation()
        try:
            items = load_items(self._settings, evaluation)
        except ConflictError:
            return  # the eval set cannot be found
        self._writer.add("evalset.jsonl", "".join(f"{item_json(item)}\n" for item in items).encode())
        evaluation_dir = EvaluationDir(self._settings.evaluations_dir / str(evaluation.evaluation_id))
        sources = {"eval_request.json": evaluation_dir.request, "eval_log.jsonl": evaluation_dir.batches}
        for path, source in sources.items():
            if source.is_file():
                self._writer.add(path, source)
        if contents.has("metrics.jsonl"):
            self._summary = eval_summary(manifest, contents.curve(), evaluation)
            if self._summary is not None:
                self._add_json("eval_summary.json", self._summary.to_json())

    def _add_json(self, path: str, value: object) -> None:
        self._writer.add(path, json_text(value).encode())

    def _write_dataset(self, manifest: RunManifest) -> None:
        """Write the rows, or their hashes and how to rebuild them."""
        try:
            dataset = get_dataset(self._settings.datasets_dir, manifest.dataset)
        except (NotFoundError, DataError):
            return
        folder = dataset_dir(self._settings.datasets_dir, manifest.dataset)
        self._writer.add("dataset/manifest.json", folder / "manifest.json")
        if (folder / "README.md").is_file():
            self._writer.add("dataset/README.md", folder / "README.md")
        self._add_json("dataset/croissant.json", croissant(dataset).to_json())
        for split in dataset.splits:
            path = f"dataset/{split.filename}"
            if self._request.has_dataset:
                self._writer.add(path, folder / split.filename)
            else:
                self._left_out.append(LeftOutFile(path=path, sha256=split.sha256, reason=_REBUILD))


@contextmanager
def _locked(run_dir: RunDir) -> Iterator[None]:
    """Keep evaluations from being added to the run, and other bundles from being packed, meanwhile."""
    if is_held(run_dir.path):
        raise ConflictError(
            f"The run {run_dir.run_id} is being written or packed.", next_step="Pack it when that is done."
        )
    if not os.access(run_dir.path, os.W_OK):
        yield  # read-only: nothing can change it
        return
    with run_dir.held():
        yield


def _require_replaceable(path: Path, run_dir: RunDir) -> None:
    """Refuse to replace anything but an earlier bundle of the run, or to write into the run itself."""
    is_inside = path.resolve().is_relative_to(run_dir.path.resolve())
    is_ours = not path.exists() or (path.is_dir() and not any(path.iterdir()))
    if not is_ours:
        with suppress(DataError, ValueError), open_bundle(path) as bundle:
            found = EvidenceManifest.model_validate_json(Contents(bundle).text(EVIDENCE_FILE))
            is_ours = found.evidence_id == evidence_id(run_dir.run_id)
    if is_inside or not is_ours:
        what = "is inside the run" if is_inside else "contains something other than a bundle of this run"
        raise ConflictError(f"{path} {what}.", next_step="Name a new directory with --to.")


def zip_bundle(directory: Path, path: Path) -> None:
    """Write a bundle as a zip file, atomically."""
    with write_atomically(path, what="writing the zip") as file:
        file.writelines(stream_zip(bundle_entries(directory)))
