"""Evidence bundles: what each file proves, the manifest, the checks and the verdict.

The manifest has exactly one valid encoding, so any changed byte invalidates its text or its hash.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Annotated, Literal, get_args

from pydantic import Field

from tunix_rt.base.records import Record
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.models.types import InnerPath, ModelFile, Sha256

Strictness = Literal["no-placeholders", "no-nulls", "own-rules"]
"""What a JSON file must not contain, besides its schema. `no-nulls`: nulls only, because texts of models or
users may look like placeholders. `own-rules`: nothing, because null means `off`."""


@dataclass(frozen=True)
class FileKind:
    """A kind of file in a bundle."""

    pattern: str
    """Path in the bundle; `*` matches any name."""
    proves: str
    content_schema: str | None = None
    is_lines: bool = False
    """Whether the schema applies to each line."""
    strictness: Strictness = "no-placeholders"
    is_required: bool = True
    """Whether evidence of a successful run must contain it."""
    is_from_run: bool = False
    """Whether the run wrote it, under the same path."""


KINDS = (
    FileKind(
        "run_manifest.json",
        "How the run ended, when, on which data, and the SHA-256 of every file that it wrote.",
        "run_manifest",
        is_from_run=True,
    ),
    FileKind(
        "recipe.resolved.json",
        "Every value that ran, and every change from the recipe's file with its reason.",
        "recipe",
        strictness="own-rules",
        is_from_run=True,
    ),
    FileKind(
        "plan.json", "The memory and time that were predicted before the run.", "plan", is_from_run=True
    ),
    FileKind(
        "environment.json",
        "On what it ran: packages, machine, devices, driver, commit and hash of the code.",
        "environment",
        is_from_run=True,
    ),
    FileKind(
        "code.diff",
        "What the code had that its commit has not.",
        is_required=False,
        is_from_run=True,
    ),
    FileKind(
        "metrics.jsonl",
        "Loss, learning rate, tokens and the hash of its batch for every logged step.",
        "metrics_line",
        is_lines=True,
        is_from_run=True,
    ),
    FileKind(
        "events.jsonl",
        "What happened to the run, numbered over every resume.",
        "run_event",
        is_lines=True,
        strictness="own-rules",
        is_from_run=True,
    ),
    FileKind("log.txt", "What the training printed.", is_from_run=True),
    FileKind(
        "predictions.jsonl",
        "What the model wrote for every question, and the verdict on it.",
        "prediction",
        is_lines=True,
        strictness="no-nulls",
        is_from_run=True,
    ),
    FileKind(
        "evaluation.json",
        "The scores with their intervals, and the protocol that they were made by.",
        "evaluation",
        is_from_run=True,
    ),
    FileKind(
        "evalset.jsonl",
        "The questions that were asked, with the answers that count as right.",
        "eval_item",
        is_lines=True,
        strictness="no-nulls",
    ),
    FileKind(
        "eval_request.json", "What the evaluation was asked to do.", "evaluation_start", is_required=False
    ),
    FileKind(
        "eval_log.jsonl",
        "Where and how fast each batch of answers was written.",
        "finished_batch",
        is_lines=True,
        is_required=False,
    ),
    FileKind("eval_summary.json", "The figures, each with the file that it follows from.", "eval_summary"),
    FileKind("env_snapshot.txt", "Python, system and packages, to read."),
    FileKind("requirements.lock.txt", "Every installed package with its version, for pip."),
    FileKind("gpu_snapshot.txt", "The devices, their memory and their driver, to read."),
    FileKind(
        "dataset/manifest.json",
        "What the dataset holds, how it was built, and the hash of every split.",
        "dataset_manifest",
        strictness="own-rules",
    ),
    FileKind("dataset/README.md", "The dataset card.", is_required=False),
    FileKind(
        "dataset/croissant.json", "The dataset for machines, as MLCommons Croissant.", "croissant",
        strictness="own-rules",
    ),
    FileKind(
        "dataset/*.jsonl",
        "The rows of a split, as they were trained or validated on.",
        "trace",
        is_lines=True,
        strictness="own-rules",
        is_required=False,
    ),
    FileKind("model/*", "A file of the trained model.", is_required=False, is_from_run=True),
    FileKind(
        "provenance.intoto.json",
        "Which inputs became which outputs, as an in-toto statement with SLSA provenance.",
        "provenance",
        strictness="own-rules",
    ),
    FileKind("ro-crate-metadata.json", "All files for machines, as an RO-Crate.", "ro_crate"),
    FileKind("evidence.html", "All of it on one page."),
)  # fmt: skip


def kind_of(path: str) -> FileKind | None:
    """The kind of a file by its path; None if a bundle may not contain it."""
    alike = (kind for kind in KINDS if path.count("/") == kind.pattern.count("/"))
    return next((kind for kind in alike if fnmatchcase(path, kind.pattern)), None)


EVIDENCE_FILE = "evidence.json"
SUMS_FILE = "SHA256SUMS"
SIGNATURE_FILE = "evidence.sig"
PUBLIC_KEY_FILE = "evidence.pub"
UNLISTED_FILES = (EVIDENCE_FILE, SUMS_FILE, SIGNATURE_FILE, PUBLIC_KEY_FILE)
"""Files written after the list of files, and therefore not on it."""
EvidenceVersion = Literal["1", "2"]
EVIDENCE_VERSION: EvidenceVersion = "2"
"""Raised when a rendered file changes, because verification renders it again. Bundles of version 1 name no
signer, and their evaluations no weight files."""
EVIDENCE_VERSIONS: tuple[EvidenceVersion, ...] = get_args(EvidenceVersion)

BundleKind = Literal["evidence", "failure-report"]
EVIDENCE_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
EvidenceId = Annotated[str, Field(pattern=EVIDENCE_ID_PATTERN)]


class EvidenceFile(ModelFile):
    """One file of a bundle."""

    proves: str
    """Description of what the file proves."""
    content_schema: str | None = None
    """Name of the JSON Schema in `docs/schemas` for the file, or for each of its lines."""


class LeftOutFile(Record):
    """A file of the run that is not in the bundle, with the hash that the run recorded."""

    path: InnerPath
    sha256: Sha256
    reason: str
    """Why it was left out, and where to get it."""


class EvidenceManifest(Record):
    """The contents of a bundle. Written after all other files."""

    evidence_version: EvidenceVersion = EVIDENCE_VERSION
    evidence_id: EvidenceId
    kind: BundleKind
    """`failure-report`: the run did not succeed."""
    headline: str
    """The result in one sentence."""
    run_id: str
    status: RunStatus
    created_at: datetime
    tunix_rt_version: str
    """Version that packed it; the version of the run is in run_manifest.json."""
    files: tuple[EvidenceFile, ...]
    """Sorted by path."""
    left_out: tuple[LeftOutFile, ...] = ()
    signer: Sha256 | None = None
    """SHA-256 of the key that signs the bundle: a missing signature is an error. Omitted without one."""
    content_hash: Sha256 = "0" * 64
    """SHA-256 of this text with 64 zeros in place of the hash."""

    @property
    def size_bytes(self) -> int:
        """Total size of all files."""
        return sum(file.size_bytes for file in self.files)

    def file(self, path: str) -> EvidenceFile | None:
        """The listed file with this path, or None."""
        return next((file for file in self.files if file.path == path), None)

    def to_bytes(self) -> bytes:
        """The canonical encoding."""
        return f"{json.dumps(self.to_json(), ensure_ascii=False, indent=2)}\n".encode()

    def expected_hash(self) -> str:
        """The value that `content_hash` must have."""
        unsealed = self.model_copy(update={"content_hash": "0" * 64})
        return hashlib.sha256(unsealed.to_bytes()).hexdigest()

    def sealed(self) -> "EvidenceManifest":
        """A copy with its content hash."""
        return self.model_copy(update={"content_hash": self.expected_hash()})


def sums_text(hashes: dict[str, str]) -> bytes:
    r"""`SHA256SUMS` in the format of `sha256sum --check`, covering every other file.

    Example:
        {"log.txt": "ab…"} -> "ab…  log.txt\n"
    """
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes)).encode()


CheckName = Literal[
    "container", "manifest", "files", "sums", "signature", "complete", "contents", "run", "training",
    "dataset", "evaluation", "figures", "scores", "pages", "replay",
]  # fmt: skip
CheckStatus = Literal["passed", "failed", "skipped"]

CHECK_TITLES: dict[CheckName, str] = {
    "container": "can be opened and contains only regular files",
    "manifest": "evidence.json is intact and has a known version",
    "files": "every file is present and unchanged",
    "sums": "SHA256SUMS has the same hashes",
    "complete": "all required files are present",
    "contents": "every file is valid against its schema, without nulls or placeholders",
    "run": "the files of the run are consistent",
    "training": "recipe, metrics, times, devices and log are consistent",
    "dataset": "the rows are those the run was trained on",
    "evaluation": "the evaluation is of these weights, on questions that were not trained on",
    "figures": "the figures match metrics.jsonl",
    "scores": "scoring every answer again from its raw text gives the same verdicts",
    "pages": "rendering the page and the RO-Crate again gives the same",
    "signature": "the signature is valid",
    "replay": "training the first steps again gives the same losses",
}


class BundleProblem(Record):
    """A problem, and what to do about it."""

    detail: str
    next_step: str | None = None


class Check(Record):
    """The result of one check."""

    name: CheckName
    status: CheckStatus
    detail: str
    """What was checked, with counts, or why the check was skipped."""
    problems: tuple[BundleProblem, ...] = ()
    num_problems: int = 0
    """Total number of problems; only the first are listed."""
    shows: str | None = None
    """What a passed check adds to the verdict: `signed by …`, `replayed (2 steps)`."""

    @property
    def title(self) -> str:
        """What it means if the check passes."""
        return CHECK_TITLES[self.name]


class VerifyProgress(Record):
    """Progress of a verification."""

    checks: tuple[Check, ...]
    """The finished checks."""
    num_bytes: int
    """Bytes of the listed files hashed so far."""
    total_bytes: int


class EvidenceVerdict(Record):
    """Whether a bundle is valid."""

    verdict_version: Literal["1"] = "1"
    passed: bool
    checked_at: datetime
    tunix_rt_version: str
    """Version that checked it."""
    bundle: str
    """Name of the directory or zip file."""
    manifest: EvidenceManifest | None = None
    """Omitted if it could not be read."""
    checks: tuple[Check, ...]
    shown: tuple[str, ...] = ()
    """What the verdict rests on, if it passed: `consistent`, then the replay and the signature, if any."""

    @property
    def problems(self) -> tuple[BundleProblem, ...]:
        """The problems of all checks."""
        return tuple(problem for check in self.checks for problem in check.problems)


def shown_by(manifest: EvidenceManifest, checks: Sequence[Check]) -> tuple[str, ...]:
    """What passed checks show.

    Example:
        ("consistent", "replayed (40 steps)", "not signed")
    """
    old = () if manifest.evidence_version == EVIDENCE_VERSION else (f"version {manifest.evidence_version}",)
    by_name = {check.name: check.shows for check in checks if check.status == "passed" and check.shows}
    replay = (by_name["replay"],) if "replay" in by_name else ()
    return ("consistent", *old, *replay, by_name.get("signature", "not signed"))


def check_of(
    name: CheckName, detail: str, problems: list[BundleProblem], *, shows: str | None = None
) -> Check:
    """A check that passes if there are no problems."""
    return Check(
        name=name,
        status="failed" if problems else "passed",
        detail=detail,
        problems=tuple(problems[:20]),
        num_problems=len(problems),
        shows=None if problems else shows,
    )


def skipped(name: CheckName, reason: str) -> Check:
    """A check that was skipped, and why."""
    return Check(name=name, status="skipped", detail=reason)
