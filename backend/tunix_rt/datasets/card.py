"""The dataset card (README.md)."""

import json
from collections.abc import Iterable, Sequence

from tunix_rt.datasets.types import DatasetManifest, Distribution

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_NONE = "–"


def dataset_card(manifest: DatasetManifest, *, file_suffix: str = "jsonl") -> str:
    """The card as Markdown with the metadata header of the Hugging Face Hub.

    Args:
        manifest: the dataset.
        file_suffix: suffix of the split files: `jsonl`, or `parquet` in an export.
    """
    sections = (
        _header(manifest, file_suffix),
        f"# {manifest.dataset_key}\n\n{_summary(manifest)}",
        f"## Splits\n\n{_splits(manifest)}",
        f"## What the rows are about\n\n{_labels(manifest)}",
        f"## Rows left out\n\n{_removals(manifest)}",
        f"## Contamination check\n\n{_contamination(manifest)}",
        f"## Where it comes from\n\n{_lineage(manifest)}",
    )
    return "\n\n".join(sections) + "\n"


def _header(manifest: DatasetManifest, file_suffix: str) -> str:
    files = "".join(
        f"  - split: {split.name}\n    path: {split.name}.{file_suffix}\n" for split in manifest.splits
    )
    size = next((name for limit, name in _SIZES if manifest.num_rows < limit), "n>1M")
    return (
        "---\n"
        f"license: {manifest.spec.license}\n"
        f"pretty_name: {manifest.dataset_key}\n"
        "task_categories:\n- text-generation\n"
        "tags:\n- reasoning\n- tunix-rt\n"
        f"size_categories:\n- {size}\n"
        f"configs:\n- config_name: default\n  data_files:\n{files}"
        "---"
    )


def _summary(manifest: DatasetManifest) -> str:
    warnings = "".join(f"\n- Warning: {warning}" for warning in manifest.warnings)
    return (
        f"{manifest.num_rows} worked solutions, chosen from {manifest.num_considered} stored traces.\n\n"
        f"- Content hash: `{manifest.content_hash}`\n"
        f"- Licence of the rows: {manifest.spec.license}\n"
        f"- Built by tunix-rt {manifest.tool_version}{warnings}"
    )


def _splits(manifest: DatasetManifest) -> str:
    spread = "mean / p95 / max"
    head = ("split", "rows", "questions", f"steps {spread}", f"characters {spread}", "score mean")
    rows = []
    for split in manifest.splits:
        found = split.statistics
        score = f"{found.score.mean:.1f} (n={found.num_scored})" if found.score else _NONE
        steps, chars = _spread(found.steps), _spread(found.chars)
        rows.append((split.name, found.num_rows, found.num_prompts, steps, chars, score))
    return _table(head, rows)


def _spread(distribution: Distribution | None) -> str:
    if distribution is None:
        return _NONE
    return f"{distribution.mean:.1f} / {distribution.p95:g} / {distribution.max:g}"


def _labels(manifest: DatasetManifest) -> str:
    rows = [
        (split.name, kind, ", ".join(f"{name} {count}" for name, count in counts.items()))
        for split in manifest.splits
        for kind, counts in (
            ("source", split.statistics.sources),
            ("category", split.statistics.categories),
            ("difficulty", split.statistics.difficulties),
        )
        if counts
    ]
    return _table(("split", "label", "rows"), rows)


def _removals(manifest: DatasetManifest) -> str:
    if not manifest.removed:
        return "None: every trace that the filters matched is in the dataset."
    return _table(("reason", "rows"), [(entry.reason, entry.num_rows) for entry in manifest.removed])


def _contamination(manifest: DatasetManifest) -> str:
    report = manifest.contamination
    checked = ", ".join(f"{evalset.name} ({evalset.num_items} items)" for evalset in report.evalsets)
    verdicts = {
        "clean": "No row repeats a question of an eval set.",
        "removed": f"{report.num_overlapping_rows} rows repeated a question of an eval set and are left out.",
        "allowed": f"{report.num_overlapping_rows} rows repeat a question of an eval set and were kept on "
        "request: a score on those sets is not a fair measure.",
    }
    return f"Compared with: {checked or 'no eval sets'}.\n\n{verdicts[report.verdict]}"


def _lineage(manifest: DatasetManifest) -> str:
    parent = manifest.lineage.parent
    continued = f"Continues `{parent.dataset_key}` (`{parent.content_hash}`).\n\n" if parent else ""
    spec = json.dumps(manifest.spec.resolved(), ensure_ascii=False, indent=2)
    # Indented, not fenced, so that no note can end the block.
    return f"{continued}The spec it was built from:\n\n" + "\n".join(
        f"    {line}" for line in spec.splitlines()
    )


def _table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = [[" ".join(str(value).replace("|", "\\|").split()) for value in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
