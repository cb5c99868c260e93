"""Check an eval set file, also against everything that a model could have been trained on."""

import json
from collections.abc import Iterator
from pathlib import Path

from tunix_rt.base.assets import shipped_dataset_names, shipped_traces
from tunix_rt.datasets.files import dataset_keys
from tunix_rt.datasets.service import iter_rows
from tunix_rt.evals.evalset_report import EvalSetReport, validate_evalset


def validate_evalset_file(path: Path, *, datasets_dir: Path) -> EvalSetReport:
    """The verdict on an eval set, with the questions that a shipped or built dataset also holds."""
    shipped = {name: _prompts(shipped_traces(name)) for name in shipped_dataset_names()}
    built = {key: _built_prompts(datasets_dir, key) for key in dataset_keys(datasets_dir)}
    return validate_evalset(path, dataset_prompts=shipped | built)


def _built_prompts(datasets_dir: Path, key: str) -> Iterator[str]:
    return _prompts(row.canonical for row in iter_rows(datasets_dir, key))


def _prompts(lines: Iterator[str]) -> Iterator[str]:
    return (json.loads(line)["prompt"] for line in lines)
