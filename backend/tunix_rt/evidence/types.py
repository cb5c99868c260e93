"""Bundle manifest, checks and verdict, what each file proves.

The file has exactly one spelling. A byte that changes in it makes it another text, or another hash.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field

from tunix_rt.base.records import Record
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.models.types import InnerPath, ModelFile, Sha256

Strictness = Literal["no-placeholders", "no-nulls", "own-rules"]
"""What a JSON file must not hold besides what its schema says. `no-nulls`: texts of models and people may be
any words. `own-rules`: a null means `off` there."""


@dataclass(frozen=True)
class FileKind:
    """One kind of file."""

    pattern: str
    """Path in the bundle; `*` stands for any name."""
    proves: str
    content_schema: str | None = None
    is_lines: bool = False
    """Whether the schema is that of each line."""
    strictness: Strictness = "no-placeholders"
    is_required: bool = True
    """Whether evidence of a success cannot do without it."""
    is_from_run: bool = False
    """Whether it is the run's own file under the run's own name."""


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
    """What is known about a file of a bundle; None: it has no place in one."""
    return next((kind for kind in KINDS if _matches(path, kind.pattern)), None)


def required_paths() -> tuple[str, ...]:
    """What evidence of a success cannot do without."""
    return tuple(kind.pattern for kind in KINDS if kind.is_required)


def _matches(path: str, pattern: str) -> bool:
    return path == pattern or (path.count("/") == pattern.count("/") and fnmatchcase(path, pattern))


EVIDENCE_FILE = "evidence.json"
SUMS_FILE = "SHA256SUMS"
SIGNATURE_FILE = "evidence.sig"
PUBLIC_KEY_FILE = "evidence.pub"
UNLISTED_FILES = (EVIDENCE_FILE, SUMS_FILE, SIGNATURE_FILE, PUBLIC_KEY_FILE)
"""What is written after the list of files, and is therefore not on it."""
EVIDENCE_VERSION: Literal["1"] = "1"

BundleKind = Literal["evidence", "failure-report"]
EVIDENCE_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
EvidenceId = Annotated[str, Field(pattern=EVIDENCE_ID_PATTERN)]


class EvidenceFile(ModelFile):
    """One file of a bundle."""

    proves: str
    """In words."""
    content_schema: str | None = None
    """The JSON Schema of the file, or of each of its lines: its name in `docs/schemas`."""


class LeftOutFile(Record):
    """A file of the run that is not in the bundle, by the hash that the run wrote down."""

    path: InnerPath
    sha256: Sha256
    reason: str
    """Why, and where it can be had."""


class EvidenceManifest(Record):
    """What a bundle holds. Written when all of that is there."""

    evidence_version: Literal["1"] = EVIDENCE_VERSION
    evidence_id: EvidenceId
    kind: BundleKind
    """`failure-report`: the run did not succeed, and nothing here says that it did."""
    headline: str
    """What it comes to, in one sentence."""
    run_id: str
    status: RunStatus
    created_at: datetime
    tunix_rt_version: str
    """That packed it; the run's own is in run_manifest.json."""
    files: tuple[EvidenceFile, ...]
    """By path."""
    left_out: tuple[LeftOutFile, ...] = ()
    content_hash: Sha256 = "0" * 64
    """SHA-256 of this text with 64 zeros in place of the hash."""

    @property
    def size_bytes(self) -> int:
        """Of all files."""
        return sum(file.size_bytes for file in self.files)

    def file(self, path: str) -> EvidenceFile | None:
        """The file at this path, if it is listed."""
        return next((file for file in self.files if file.path == path), None)

    def to_bytes(self) -> bytes:
        """The one spelling."""
        return f"{json.dumps(self.to_json(), ensure_ascii=False, indent=2)}\n".encode()

    def expected_hash(self) -> str:
        """What `content_hash` must be."""
        unsealed = self.model_copy(update={"content_hash": "0" * 64})
        return hashlib.sha256(unsealed.to_bytes()).hexdigest()

    def sealed(self) -> "EvidenceManifest":
        """The same with its hash."""
        return self.model_copy(update={"content_hash": self.expected_hash()})


def sums_text(hashes: dict[str, str]) -> bytes:
    r"""`SHA256SUMS` as `sha256sum --check` reads it: every file but itself.

    Example:
        {"log.txt": "ab…"} -> "ab…  log.txt\n"
    """
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes)).encode()


CheckName = Literal[
    "container", "manifest", "files", "sums", "complete", "contents", "run", "dataset", "figures", "scores",
    "signature", "replay",
]  # fmt: skip
CheckStatus = Literal["passed", "failed", "skipped"]

CHECK_TITLES: dict[CheckName, str] = {
    "container": "can be opened, and holds plain files only",
    "manifest": "evidence.json is whole and of a known version",
    "files": "every file is there and has the bytes that were packed",
    "sums": "SHA256SUMS says the same",
    "complete": "nothing that proves the run is missing",
    "contents": "every file follows its schema, without nulls or placeholders",
    "run": "what the run wrote agrees with itself",
    "dataset": "the rows are those that the run was given",
    "figures": "the figures follow from metrics.jsonl",
    "scores": "every answer, scored again from its raw text, gets the same verdict",
    "signature": "the signature is right",
    "replay": "the first steps, trained again, have the same losses",
}


class BundleProblem(Record):
    """Something that is wrong, and what to do about it."""

    detail: str
    next_step: str | None = None


class Check(Record):
    """One thing that was looked at."""

    name: CheckName
    status: CheckStatus
    detail: str
    """What was looked at, with counts; of a skipped check: why."""
    problems: tuple[BundleProblem, ...] = ()
    num_problems: int = 0
    """All of them; the first are listed."""

    @property
    def title(self) -> str:
        """What a pass means."""
        return CHECK_TITLES[self.name]


class VerifyProgress(Record):
    """How far the checking of a bundle is."""

    checks: tuple[Check, ...]
    """Those that are made."""
    num_bytes: int
    """Of the listed files, hashed so far."""
    total_bytes: int


class EvidenceVerdict(Record):
    """Whether a bundle can be believed."""

    verdict_version: Literal["1"] = "1"
    passed: bool
    checked_at: datetime
    tunix_rt_version: str
    """That checked it."""
    bundle: str
    """Name of the directory or zip file."""
    manifest: EvidenceManifest | None = None
    """Left out where it could not be read."""
    checks: tuple[Check, ...]

    @property
    def problems(self) -> tuple[BundleProblem, ...]:
        """Of all checks."""
        return tuple(problem for check in self.checks for problem in check.problems)


MAX_PROBLEMS = 20


def check_of(name: CheckName, detail: str, problems: list[BundleProblem]) -> Check:
    """A check that passed when it found no problems."""
    return Check(
        name=name,
        status="failed" if problems else "passed",
        detail=detail,
        problems=tuple(problems[:MAX_PROBLEMS]),
        num_problems=len(problems),
    )


def skipped(name: CheckName, reason: str) -> Check:
    """A check that was not made, and why."""
    return Check(name=name, status="skipped", detail=reason)
