"""A request becomes a run in the queue."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.base.home import Home
from tunix_rt.core.runs.preview import RunPreview
from tunix_rt.core.runs.request import RunRequest
from tunix_rt.core.runs.run import RunDetail
from tunix_rt.core.runs.store_types import NewRun
from tunix_rt.db.runs import RunRepository
from tunix_rt.engines.training.data import new_run_dir
from tunix_rt.files.job_dirs import JobDir
from tunix_rt.services.runs.preparing import prepare

MAX_NAME_CHARS = 64


def submit(
    home: Home,
    request: RunRequest,
    *,
    sweep_id: str | None = None,
    name: str | None = None,
    run_id: str | None = None,
    allows_paths: bool = False,
) -> RunDetail:
    """Check and plan a request, and put it into the queue.

    Args:
        home: where the queue is.
        request: what was asked for.
        sweep_id: of the sweep that it is a trial of.
        name: becomes part of the run's id. Default: the request's, else the recipe's.
        run_id: of the run, for whoever must find it again whatever happens. Default: a new one.
        allows_paths: whether the model may be a directory of this machine: never for a client's request.

    Raises:
        ConflictError: There is a run with this id.
        TunixRTError: It cannot run: see `prepare`.
    """
    preview = prepare(home.settings, request, allows_paths=allows_paths)
    if run_id is None:
        called = (name or request.name or preview.recipe_name)[:MAX_NAME_CHARS]
        run_id = new_run_dir(home.settings, Path(called), None).run_id
    RunRepository(home.database).require_free(run_id)
    job_dir = JobDir(home.settings.jobs_dir / run_id)
    write_recipe(job_dir, preview.recipe)
    # The row comes last: whoever finds the run in the queue finds its recipe too.
    return RunRepository(home.database).add(_new_run(run_id, request, preview, sweep_id))


def write_recipe(job_dir: JobDir, recipe: Mapping[str, JsonValue]) -> None:
    """Write the resolved recipe for the engine; JSON is YAML too."""
    write_json_atomically(job_dir.recipe, recipe, what="writing the recipe of a run")


def _new_run(run_id: str, request: RunRequest, preview: RunPreview, sweep_id: str | None) -> NewRun:
    return NewRun(
        run_id=run_id,
        request=request,
        recipe_name=preview.recipe_name,
        model=preview.model,
        dataset=preview.dataset,
        mode=preview.mode,
        engine=preview.engine,
        sweep_id=sweep_id,
        recipe=preview.recipe,
        plan=None if preview.plan is None else preview.plan.model_dump(mode="json", exclude_none=True),
    )
