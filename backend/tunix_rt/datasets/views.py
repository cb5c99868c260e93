"""Terminal output for datasets."""

from tunix_rt.base.terminal.output import counted, note, print_table, say
from tunix_rt.datasets.diff import DatasetDiff
from tunix_rt.datasets.service import DatasetList, DatasetVerdict, RowPage
from tunix_rt.datasets.types import BuildOutcome, DatasetManifest, Distribution

_START_CHARS = 80
_HASH_CHARS = 12


def print_outcome(outcome: BuildOutcome) -> None:
    """Print the result of a build."""
    if outcome.status == "unchanged":
        say(f"{outcome.dataset_key} already exists with the same content; nothing was changed.")
    else:
        say(f"Built {outcome.dataset_key}.")
    print_manifest(outcome.manifest)


def print_manifest(manifest: DatasetManifest) -> None:
    """Print the contents of a dataset."""
    say(f"{counted(manifest.num_rows, 'row')} of {manifest.num_considered:,} considered")
    say(f"content {manifest.content_hash}")
    print_table(
        ("split", "rows", "questions", "steps mean/p95/max", "characters mean/p95/max", "score"),
        [
            (
                split.name,
                f"{split.statistics.num_rows:,}",
                f"{split.statistics.num_prompts:,}",
                _spread(split.statistics.steps),
                _spread(split.statistics.chars),
                f"{split.statistics.score.mean:.1f}" if split.statistics.score else "–",
            )
            for split in manifest.splits
        ],
    )
    for removal in manifest.removed:
        say(f"removed {removal.num_rows:,} ({removal.reason})")
    report = manifest.contamination
    say(
        f"contamination: {report.verdict}, {report.num_overlapping_rows} overlapping rows, "
        f"{len(report.evalsets)} eval sets compared"
    )
    if manifest.lineage.parent:
        say(f"parent {manifest.lineage.parent.dataset_key}")
    for warning in manifest.warnings:
        note(f"warning: {warning}")


def _spread(distribution: Distribution | None) -> str:
    if distribution is None:
        return "–"
    return f"{distribution.mean:.1f}/{distribution.p95:g}/{distribution.max:g}"


def print_list(page: DatasetList) -> None:
    """Print one line per dataset."""
    for key in page.damaged:
        note(f"damaged: {key}; remove it with: tunix-rt data delete {key}")
    if not page.data:
        say("There are no datasets yet. Build one: tunix-rt data build --name NAME")
        return
    print_table(
        ("key", "rows", "splits", "built", "content"),
        [
            (
                summary.dataset_key,
                f"{summary.num_rows:,}",
                ", ".join(f"{name} {count:,}" for name, count in summary.splits.items()),
                f"{summary.created_at:%Y-%m-%d %H:%M} UTC",
                summary.content_hash[:_HASH_CHARS],
            )
            for summary in page.data
        ],
    )
    _say_more(len(page.data), page.pagination.total)


def print_rows(page: RowPage) -> None:
    """Print one line per row."""
    print_table(
        ("row", "trace", "question", "steps", "answer"),
        [
            (
                row.index,
                row.trace_id,
                _start(row.trace.prompt),
                len(row.trace.steps),
                _start(row.trace.final_answer),
            )
            for row in page.data
        ],
        title=f"{page.dataset_key} {page.split}",
    )
    _say_more(len(page.data), page.pagination.total)


def print_diff(diff: DatasetDiff) -> None:
    """Print the counts of all changes, with examples."""
    if diff.identical:
        say(f"{diff.base} and {diff.other} have the same rows.")
        return
    print_table(
        ("change", "number"),
        [
            ("rows in both", f"{diff.num_unchanged:,}"),
            ("rows added", f"{diff.num_added:,}"),
            ("rows removed", f"{diff.num_removed:,}"),
            ("questions with different answers", f"{diff.num_answers_changed:,}"),
            ("questions in another split", f"{diff.num_splits_moved:,}"),
        ],
        title=f"{diff.base} -> {diff.other}",
    )
    for sign, rows in (("+", diff.added), ("-", diff.removed)):
        for row in rows:
            say(f"{sign} {row.split} {_start(row.prompt_start)} => {_start(row.final_answer)}")
    for change in diff.answers_changed:
        answers = f"{', '.join(change.base_answers)} -> {', '.join(change.other_answers)}"
        say(f"~ {_start(change.prompt_start)}: {answers}")
    for move in diff.splits_moved:
        say(f"> {_start(move.prompt_start)}: {move.base_split} -> {move.other_split}")


def print_verdict(verdict: DatasetVerdict) -> None:
    """Print whether a dataset is intact, and its problems."""
    if verdict.intact:
        num_rows = counted(verdict.num_rows, "row")
        say(f"{verdict.dataset_key} is intact: {num_rows}, content {verdict.content_hash}")
        return
    say(f"{verdict.dataset_key} is damaged:")
    for problem in verdict.problems:
        say(f"  {problem}")


def _start(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _START_CHARS else f"{line[: _START_CHARS - 1]}…"


def _say_more(num_shown: int, total: int) -> None:
    if num_shown < total:
        say(f"{num_shown} of {total:,}; --limit and --offset show others")
