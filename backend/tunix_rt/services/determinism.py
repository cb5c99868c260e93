"""The use case behind `tunix-rt doctor --determinism`: the same run twice, on every engine and platform."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

from tunix_rt import __version__
from tunix_rt.base.errors import MissingExtraError
from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.base.settings import Settings
from tunix_rt.core.determinism import DeterminismReport, RepeatedRun
from tunix_rt.core.doctor import Platform
from tunix_rt.engines.base import EngineName
from tunix_rt.engines.installed import this_machine
from tunix_rt.engines.parity_runs import FinishedRun, train_in_child
from tunix_rt.engines.weight_comparison import compare_weights
from tunix_rt.recipes.load import Flag, ResolvedRecipe, load_recipe
from tunix_rt.services.doctor import ENGINES, platforms
from tunix_rt.services.parity_recipe import short_run_flags
from tunix_rt.services.training import dataset_rows
from tunix_rt.services.weight_hashing import weights_hash

_REASON = "--determinism"

OnStage = Callable[[str], None]
"""Told what is being done."""


@dataclass(frozen=True)
class DeterminismRequest:
    """What is repeated."""

    recipe_path: Path
    dataset: str | None = None
    """Key. None: the recipe's."""
    num_steps: int = 20
    sets: tuple[str, ...] = ()
    """`key=value` each, as `load_recipe` takes them."""


def measure_determinism(
    settings: Settings, request: DeterminismRequest, *, on_stage: OnStage = lambda _: None
) -> DeterminismReport:
    """Train twice with every installed engine on every platform that is here, and compare bit for bit.

    Raises:
        MissingExtraError: No engine is installed.
        TunixRTError: An engine could not train the recipe.
    """
    machine = this_machine()
    places = [(engine, platform) for engine in ENGINES for platform in platforms(engine, machine)]
    if not places:
        raise MissingExtraError("Training", extra="jax")
    resolved = _resolved(request)
    dataset_rows(settings, resolved.recipe)  # refuses a key that does not exist, before anything is trained
    with storage_errors("making the home directory"):
        settings.home_dir.mkdir(parents=True, exist_ok=True)
    # In the home: weights may be too large for the disk of temporary files.
    with tempfile.TemporaryDirectory(dir=settings.home_dir, prefix=".determinism-") as work:
        recipe_file = Path(work) / "recipe.json"
        write_json_atomically(recipe_file, resolved.to_json(), what="writing the recipe")
        repeats = [_repeated(*place, recipe_file, settings.home_dir, on_stage) for place in places]
    return DeterminismReport(
        created_at=datetime.now(UTC),
        tunix_rt_version=__version__,
        recipe_name=request.recipe_path.stem,
        recipe=resolved.recipe.model_dump(mode="json"),
        overrides=resolved.overrides,
        num_steps=request.num_steps,
        repeats=tuple(repeats),
    )


def compare_runs(platform: Platform, first: FinishedRun, second: FinishedRun) -> RepeatedRun:
    """How far two runs of one recipe by one engine are from each other."""
    weights = compare_weights(first.model, second.model)
    losses = list(zip(first.record.losses, second.record.losses, strict=True))
    return RepeatedRun(
        engine=first.record.engine,
        platform=platform,
        packages=first.record.packages,
        losses=first.record.losses,
        weights_sha256=(_hash_of(first.model), _hash_of(second.model)),
        batches_equal=first.record.batch_hashes == second.record.batch_hashes,
        num_equal_steps=sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], losses)),
        max_loss_difference=max(abs(one - other) for one, other in losses),
        max_weight_difference=weights.largest,
        max_weight_difference_tensor=weights.tensor,
        num_weights=weights.num_weights,
    )


def _resolved(request: DeterminismRequest) -> ResolvedRecipe:
    path, sets = request.recipe_path, request.sets
    flags = {} if request.dataset is None else {"data.dataset": Flag(request.dataset, "--dataset")}
    recipe = load_recipe(path, sets=sets, flags=flags).recipe
    return load_recipe(
        path, sets=sets, flags={**flags, **short_run_flags(recipe, request.num_steps, _REASON)}
    )


def _repeated(
    engine: EngineName, platform: Platform, recipe: Path, home: Path, on_stage: OnStage
) -> RepeatedRun:
    def train(attempt: str) -> FinishedRun:
        on_stage(f"training with the {engine} engine on the {platform.upper()}, {attempt} time")
        directory = recipe.parent / f"{engine}-{platform}-{attempt}"
        return train_in_child(engine, recipe, directory, home=home, device=platform)

    return compare_runs(platform, train("first"), train("second"))


def _hash_of(model: Path) -> str:
    return weights_hash({"model": model}, lambda _: None) or ""
