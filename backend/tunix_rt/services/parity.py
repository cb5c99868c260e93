"""The use case behind `tunix-rt doctor --parity`: two engines, one recipe, one certificate."""

import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tunix_rt import __version__
from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.base.settings import Settings
from tunix_rt.core.parity import ParityCertificate, is_within_bounds
from tunix_rt.engines.base import EngineName
from tunix_rt.engines.choice import choose_engine
from tunix_rt.engines.installed import this_machine
from tunix_rt.engines.parity_runs import ADAPTERS, MODEL, FinishedRun, train_in_child, write_start
from tunix_rt.engines.weight_comparison import compare_weights
from tunix_rt.recipes.load import ResolvedRecipe
from tunix_rt.services.parity_recipe import from_saved_weights, load_parity_recipe
from tunix_rt.services.training import dataset_rows

_ENGINES: tuple[EngineName, EngineName] = ("jax", "torch")
_RECIPE_FILE = "recipe.json"

OnStage = Callable[[str], None]
"""Told what is being done."""


@dataclass(frozen=True)
class ParityRequest:
    """What is compared."""

    recipe_path: Path
    dataset: str | None = None
    """Key. None: the recipe's."""
    num_steps: int = 20
    sets: tuple[str, ...] = ()
    """`key=value` each, as `load_recipe` takes them."""


def certify_parity(
    settings: Settings, request: ParityRequest, *, on_stage: OnStage = lambda _: None
) -> tuple[ParityCertificate, Path]:
    """Train with both engines from the same weights, compare them, and keep the certificate.

    Raises:
        MissingExtraError: An engine is not installed.
        TunixRTError: An engine could not train the recipe.
    """
    for engine in _ENGINES:
        choose_engine(engine, "cpu", this_machine())
    resolved = load_parity_recipe(
        request.recipe_path, dataset=request.dataset, num_steps=request.num_steps, sets=request.sets
    )
    dataset_rows(settings, resolved.recipe)  # refuses a key that does not exist, before anything is drawn
    with storage_errors("making the directory of certificates"):
        settings.parity_dir.mkdir(parents=True, exist_ok=True)
    # Beside the certificates: weights may be too large for the disk of temporary files.
    with tempfile.TemporaryDirectory(dir=settings.parity_dir, prefix=".work-") as work:
        runs = _trained(settings.home_dir, resolved, Path(work), on_stage)
        on_stage("comparing the weights")
        certificate = make_certificate(request.recipe_path.stem, resolved, *runs)
    path = settings.parity_dir / f"{certificate.certificate_id}.json"
    write_json_atomically(path, certificate.to_json(), what="writing the certificate")
    return certificate, path


def _trained(
    home: Path, resolved: ResolvedRecipe, work: Path, on_stage: OnStage
) -> tuple[FinishedRun, FinishedRun]:
    recipe = resolved.recipe
    if recipe.model.weights == "random" or recipe.lora is not None:
        on_stage("making the weights that both engines start from")
        write_start(_written(resolved, work), work, home=home)
    if recipe.model.weights == "random":
        resolved = from_saved_weights(resolved, work / MODEL)
    recipe_path = _written(resolved, work)
    adapters = None if recipe.lora is None else work / ADAPTERS

    def train(engine: EngineName) -> FinishedRun:
        on_stage(f"training with the {engine} engine on the CPU")
        return train_in_child(engine, recipe_path, work / engine, home=home, adapters=adapters)

    first, second = map(train, _ENGINES)
    return first, second


def _written(resolved: ResolvedRecipe, work: Path) -> Path:
    path = work / _RECIPE_FILE
    write_json_atomically(path, resolved.to_json(), what="writing the recipe")
    return path


def make_certificate(
    name: str, resolved: ResolvedRecipe, first: FinishedRun, second: FinishedRun
) -> ParityCertificate:
    """Compare two finished runs of a recipe."""
    weights = compare_weights(first.model, second.model)
    losses = zip(first.record.losses, second.record.losses, strict=True)
    differences = [abs(one - other) for one, other in losses]
    worst = max(range(len(differences)), key=differences.__getitem__)
    batches_equal = first.record.batch_hashes == second.record.batch_hashes
    created_at = datetime.now(UTC)
    return ParityCertificate(
        certificate_id=f"{created_at:%Y%m%d-%H%M%S}-{name}-{secrets.token_hex(2)}",
        created_at=created_at,
        tunix_rt_version=__version__,
        recipe_name=name,
        recipe=resolved.recipe.model_dump(mode="json"),
        overrides=resolved.overrides,
        dataset=first.dataset,
        dataset_hash=first.dataset_hash,
        num_steps=len(differences),
        runs=(first.record, second.record),
        batches_equal=batches_equal,
        max_loss_difference=differences[worst],
        max_loss_difference_step=worst + 1,
        max_weight_difference=weights.largest,
        max_weight_difference_tensor=weights.tensor,
        num_weights=weights.num_weights,
        passed=is_within_bounds(
            batches_equal=batches_equal,
            loss_difference=differences[worst],
            weight_difference=weights.largest,
        ),
    )
