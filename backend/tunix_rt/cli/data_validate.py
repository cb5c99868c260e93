"""`tunix-rt data validate`: is this eval set, or this dataset, fit for use?"""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json
from tunix_rt.datasets import views as data_view
from tunix_rt.datasets.evalsets import evalset_paths
from tunix_rt.datasets.service import verify_dataset
from tunix_rt.services.evalset_validating import validate_evalset_file

Target = Annotated[
    str, typer.Argument(metavar="FILE|NAME|KEY", help="Eval set by name or file, or dataset key.")
]


def validate(target: Target, as_json: JsonFlag = False) -> None:
    """Check an eval set file or a dataset; exit 1 if it must not be used as it is."""
    evalset = _evalset_path(target)
    is_good = _check_dataset(target, as_json) if evalset is None else _check_evalset(evalset, as_json)
    if not is_good:
        raise typer.Exit(1)


def _evalset_path(target: str) -> Path | None:
    named = evalset_paths(load_settings())
    if target in named:
        return named[target]
    # A key has no separator and no .jsonl ending, so a misspelt path is reported as a missing file.
    looks_like_path = "/" in target or target.endswith(".jsonl")
    return Path(target) if looks_like_path or Path(target).is_file() else None


def _check_evalset(path: Path, as_json: bool) -> bool:
    report = validate_evalset_file(path, datasets_dir=load_settings().datasets_dir)
    print_json(report) if as_json else data_view.print_evalset(report)
    return report.is_valid


def _check_dataset(key: str, as_json: bool) -> bool:
    verdict = verify_dataset(load_settings().datasets_dir, key)
    print_json(verdict) if as_json else data_view.print_verdict(verdict)
    return verdict.intact
