"""The second part of the demo: the dataset is planned for and trained on, on this machine."""

from dataclasses import dataclass

from tunix_rt.base.assets import shipped_recipe_path
from tunix_rt.base.settings import Settings
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import find_target
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.data import dataset_rows, new_run_dir, smoke_flags
from tunix_rt.engines.training.job import Engine, TrainingJob
from tunix_rt.engines.training.records import View
from tunix_rt.engines.training.run import run
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.engines.types import DeviceName, DeviceRequest
from tunix_rt.recipes.load import ResolvedRecipe, load_recipe

_RECIPE = "demo"
DEMO_DEVICE: DeviceName = "cpu"


@dataclass(frozen=True)
class DemoTraining:
    """A training that is ready to start, and what it is expected to take."""

    settings: Settings
    resolved: ResolvedRecipe
    plan: Plan
    run_dir: RunDir

    def run(self, engine: Engine, view: View) -> RunManifest:
        """Train. The run directory is a new one, whatever earlier demos left."""
        job = TrainingJob(
            resolved=self.resolved,
            data=dataset_rows(self.settings, self.resolved.recipe),
            run_dir=self.run_dir,
            device=DeviceRequest(DEMO_DEVICE),
            recipe_name=_RECIPE,
        )
        return run(engine, job, view)


def plan_demo_training(settings: Settings, *, smoke_steps: int | None = None) -> DemoTraining:
    """Read the shipped recipe and plan it for this machine's CPU.

    Args:
        settings: Where the dataset is and the run goes.
        smoke_steps: End after this many steps. None: as long as the recipe says.
    """
    path = shipped_recipe_path(_RECIPE)
    resolved = load_recipe(path)
    if smoke_steps is not None:
        flags = smoke_flags(resolved.recipe, smoke_steps, reason="--smoke-steps")
        resolved = load_recipe(path, flags=flags)
    plan = plan_recipe(
        settings, resolved.recipe, find_target(DEMO_DEVICE), PlanOptions(is_fast=True), PlanProgress()
    )
    return DemoTraining(settings, resolved, plan, new_run_dir(settings, path, None))
