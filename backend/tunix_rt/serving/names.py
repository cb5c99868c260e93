"""Model names that clients may use, and the weights they currently refer to."""

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
"""The newest runs are listed; every finished run can be used by its id, listed or not."""
# Cannot leave the runs directory: no slash and no leading dot.
_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True)
class ServableModel:
    """Weights that can be loaded."""

    root: str
    """Permanent name of the weights: `name:version` in the registry, or a run id."""
    argument: str
    """Argument for `find_model`; never the text that a client sent."""
    created_at: datetime


def find_served(home: Home, name: str) -> ServableModel:
    """Resolve a name to weights: a registered model first, otherwise a run.

    Raises:
        NotFoundError: No registered model and no finished run has this name.
    """
    try:
        version = ModelRepository(home.database).find(parse_reference(name))
    except InvalidInputError:  # includes NotFoundError
        run = _finished_run(home, name)
        if run is None:
            raise NotFoundError(
                f"There is no model {name!r} to serve: it is not a registered model or a finished run.",
                next_step="List them with GET /v1/models, or register one with tunix-rt models register.",
            ) from None
        return run
    return ServableModel(version.reference, version.reference, version.created_at)


def list_served(home: Home) -> Iterator[ServedModel]:
    """Every registered version and alias, and the newest finished runs."""
    for version in ModelRepository(home.database).all_versions():
        model = ServableModel(version.reference, version.reference, version.created_at)
        for name in (version.reference, *(f"{version.model}@{alias}" for alias in version.aliases)):
            yield served(name, model)
    manifests = home.settings.runs_dir.glob(f"*/{MANIFEST_FILE}")
    for path in nlargest(MAX_RUNS_LISTED, manifests, key=_modified_at):
        try:
            run = _finished_run(home, path.parent.name)
        except DataError:  # a damaged manifest; requesting this run reports it
            continue
        if run is not None:
            yield served(run.root, run)


def served(name: str, model: ServableModel) -> ServedModel:
    """How a model is listed under one of its names."""
    return ServedModel(id=name, created=int(model.created_at.timestamp()), root=model.root)


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # removed after it was listed
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
