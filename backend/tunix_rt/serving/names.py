"""Names clients may use, and the weights they mean now."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from heapq import nlargest
from pathlib import Path

from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.engines.training.run_dir import MANIFEST_FILE, RunDir, read_manifest
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import parse_reference
from tunix_rt.serving.types import ServedModel

MAX_RUNS_LISTED = 100
"""The newest; every finished run can be asked by its id, listed or not."""
# Names a directory right there: no slash, and no dots that lead elsewhere.
_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True)
class ServableModel:
    """Weights that can be loaded."""

    root: str
    """Always means these weights: `name:version` of the registry, or the id of a run."""
    argument: str
    """What `find_model` takes for them; never what a client sent."""
    created_at: datetime


def find_served(home: Home, name: str) -> ServableModel:
    """The weights that a name means now: of the registry, else of a run.

    Raises:
        NotFoundError: Nothing that can be served has this name.
    """
    try:
        version = ModelRepository(home.database).find(parse_reference(name))
    except InvalidInputError:  # among them NotFoundError
        run = _finished_run(home, name)
        if run is None:
            raise _unknown(name) from None
        return run
    return ServableModel(version.reference, version.reference, version.created_at)


def list_served(home: Home) -> Iterator[ServedModel]:
    """Every registered version and alias, and the newest finished runs."""
    for version in ModelRepository(home.database).all_versions():
        created = int(version.created_at.timestamp())
        names = [version.reference, *(f"{version.model}@{alias}" for alias in version.aliases)]
        yield from (ServedModel(id=name, created=created, root=version.reference) for name in names)
    for run in _newest_runs(home):
        yield served(run.root, run)


def served(name: str, model: ServableModel) -> ServedModel:
    """What clients see of a model under one of its names."""
    return ServedModel(id=name, created=int(model.created_at.timestamp()), root=model.root)


def _newest_runs(home: Home) -> Iterator[ServableModel]:
    manifests = home.settings.runs_dir.glob(f"*/{MANIFEST_FILE}")
    for path in nlargest(MAX_RUNS_LISTED, manifests, key=_modified_at):
        try:
            run = _finished_run(home, path.parent.name)
        except DataError:  # a damaged manifest; whoever asks for this run is told
            continue
        if run is not None:
            yield run


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # removed since it was listed
        return 0.0


def _finished_run(home: Home, run_id: str) -> ServableModel | None:
    if not _RUN_ID.fullmatch(run_id):
        return None
    run_dir = RunDir(home.settings.runs_dir / run_id)
    if not run_dir.recipe.is_file() or not run_dir.model.is_dir():
        return None
    manifest = read_manifest(run_dir)
    if manifest is None or manifest.status != "succeeded":
        return None
    return ServableModel(run_id, str(run_dir.path), manifest.finished_at)


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(
        f"There is no model {name!r} to ask: it is no registered model and no finished run.",
        next_step="GET /v1/models lists them; tunix-rt models register makes one.",
    )
