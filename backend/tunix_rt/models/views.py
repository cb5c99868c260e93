"""Models in the terminal."""

from collections.abc import Sequence

from tunix_rt.base.terminal.output import counted, print_table, say
from tunix_rt.models.types import EvaluationSummary, ExportReport, ModelDetail, ModelVersion, RegisteredModel

_KIB = 1024


def print_models(models: Sequence[RegisteredModel], total: int) -> None:
    """One line per model."""
    if not models:
        say("No registered models. Register one: tunix-rt models register NAME --run RUN")
        return
    rows = [
        (
            model.name,
            model.latest_version,
            model.num_versions,
            ", ".join(f"@{alias} = {version}" for alias, version in model.aliases.items()) or None,
            f"{model.updated_at:%Y-%m-%d %H:%M}",
        )
        for model in models
    ]
    print_table(("name", "newest", "versions", "aliases", "updated"), rows)
    if total > len(models):
        say(f"{len(models)} of {total}; --offset shows the rest")


def print_model(model: ModelDetail) -> None:
    """A model and its versions."""
    say(model.name if model.description is None else f"{model.name}: {model.description}")
    rows = [
        (
            version.version,
            version.label,
            version.kind,
            ", ".join(f"@{alias}" for alias in version.aliases) or None,
            size_text(version.size_bytes),
            version.lineage.run_id,
            version.lineage.dataset,
            f"{version.created_at:%Y-%m-%d %H:%M}",
        )
        for version in model.versions
    ]
    print_table(("version", "label", "kind", "aliases", "size", "run", "dataset", "registered"), rows)


def print_version(version: ModelVersion, evaluations: Sequence[EvaluationSummary]) -> None:
    """A version with its lineage and evaluations."""
    lineage, files = version.lineage, counted(version.num_files, "file")
    facts = {
        "version": version.reference if version.label is None else f"{version.reference} ({version.label})",
        "aliases": ", ".join(f"@{alias}" for alias in version.aliases),
        "kind": version.kind,
        "content": f"{version.content_hash} ({files}, {size_text(version.size_bytes)})",
        "run": lineage.run_id,
        "step": lineage.step,
        "recipe": lineage.recipe,
        "dataset": lineage.dataset,
        "base model": None if lineage.base is None else lineage.base.name,
        "parent": lineage.parent,
        "tags": ", ".join(f"{name}={value}" for name, value in version.tags.items()),
        "notes": version.notes,
        "registered": f"{version.created_at:%Y-%m-%d %H:%M} UTC",
    }
    for name, value in facts.items():
        if value not in (None, ""):
            say(f"{name:<11} {value}")
    for one in evaluations:
        score = "no item could be scored"
        if one.primary_score is not None and one.low is not None and one.high is not None:
            interval = f"95 % {one.low:.1%}–{one.high:.1%}"
            score = f"{one.primary_score:.1%} ({interval}, n = {one.num_scored})"
        say(f"{'evaluation':<11} {one.evalset}: {score}  {str(one.evaluation_id)[:8]}")
    if not evaluations:
        say(f"next: tunix-rt eval {version.reference} --eval-set eval_v2")


def print_report(report: ExportReport, output: str) -> None:
    """What was exported, and whether it is the same model."""
    size = size_text(sum(file.size_bytes for file in report.files))
    files = counted(len(report.files), "file")
    say(f"Exported {report.version} ({report.form}) to {output}: {files}, {size}.")
    if report.is_same_bytes:
        say("The files are bit-identical to the registered ones.")
    tokens = report.tokens
    if tokens is None:
        return
    num_same = len(tokens.prompts) - len(tokens.differing)
    say(
        f"Parity: equal greedy tokens (up to {tokens.max_new_tokens}) on {num_same} of "
        f"{counted(len(tokens.prompts), 'prompt')} ({tokens.engine}, {tokens.precision})."
    )
    for prompt in tokens.differing:
        say(f"  first difference at token {prompt.first_difference}: {prompt.prompt}")


def size_text(num_bytes: int) -> str:
    """A size in a readable unit.

    Example:
        538_090_408 -> "513.2 MiB"
    """
    size = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < _KIB:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _KIB
    return f"{size:.1f} TiB"
