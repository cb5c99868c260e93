"""The use case behind `tunix-rt kaggle notebook`: a recipe becomes a notebook that can be run unattended."""

from dataclasses import dataclass
from pathlib import Path

from tunix_rt.base.assets import shipped_dataset_names
from tunix_rt.base.errors import DoesNotFitError, InvalidInputError
from tunix_rt.base.settings import Settings
from tunix_rt.engines.planning.fixes import advice_of
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import LOCAL, find_target
from tunix_rt.engines.planning.types import Plan
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.services.kaggle.ipynb import Cell, notebook_text
from tunix_rt.services.kaggle.machines import machine_of
from tunix_rt.services.kaggle.session import SessionPlan, plan_session
from tunix_rt.services.kaggle.stages import NotebookRequest, stages

_SILENT = PlanProgress()
METADATA_KEY = "tunix_rt"
"""In the notebook's metadata: what `kaggle push` must know."""


@dataclass(frozen=True)
class WrittenNotebook:
    """A notebook and what it rests on."""

    text: str
    plan: Plan
    session: SessionPlan


def write_notebook(
    settings: Settings,
    recipe_path: Path,
    request: NotebookRequest,
    *,
    is_fast: bool,
    progress: PlanProgress = _SILENT,
) -> WrittenNotebook:
    """Plan the recipe for the machine and write the notebook.

    Raises:
        DoesNotFitError: The plan says that it does not fit.
        InvalidInputError: Kaggle has no such machine, or no such session.
    """
    machine = machine_of(request.target)
    if request.hours <= 0:
        raise InvalidInputError("A session has some hours.", next_step="Write --hours 9, or less.")
    recipe = load_recipe(recipe_path, sets=list(request.sets)).recipe
    dataset = _dataset_there(recipe, request)
    options = PlanOptions(is_fast=is_fast, session_seconds=request.hours * 3600)
    plan = plan_recipe(settings, recipe, find_target(request.target), options, progress)
    if not plan.fits:
        raise DoesNotFitError(
            plan.reason, next_step=f"{advice_of(plan)}No session is spent on what does not fit."
        )
    session = plan_session(recipe, plan, request.hours * 3600)
    cells = [Cell("title", "markdown", _headline(request)), *_stage_cells(request, session, dataset)]
    metadata = {
        METADATA_KEY: {
            "recipe": request.recipe_name,
            "target": request.target,
            "machine_shape": machine.machine_shape or "",
            "kernel_sources": [request.goes_on_from] if request.goes_on_from else [],
        }
    }
    return WrittenNotebook(notebook_text(cells, metadata), plan, session)


def _stage_cells(request: NotebookRequest, session: SessionPlan, dataset: str) -> list[Cell]:
    return [cell for stage in stages(request, session, dataset) for cell in stage.cells()]


def _dataset_there(recipe: Recipe, request: NotebookRequest) -> str:
    """The key of the dataset, if Kaggle can have it."""
    key = recipe.data.dataset
    if key is None:
        raise InvalidInputError("The recipe names no dataset.", next_step="Add --set data.dataset=KEY.")
    if key not in shipped_dataset_names() and request.data_file is None:
        raise InvalidInputError(
            f"The dataset {key} is on this machine only.",
            next_step=f"Put the file of `tunix-rt data export {key}` into a dataset on Kaggle, and add "
            "--data /kaggle/input/SLUG/FILE.",
        )
    return key


def _headline(request: NotebookRequest) -> str:
    where = "this machine, two steps of everything" if request.target == LOCAL else request.target
    return (
        f"# {request.recipe_name}: {where}\n\n"
        "Made by `tunix-rt kaggle notebook`. Every cell is one command; one that fails stops the notebook "
        "with its reason."
    )
