"""What can be in a bundle: each file, what it proves, and how it is read."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

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
