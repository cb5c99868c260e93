"""Parity of the engines and determinism of each: compare losses and weights of two runs."""

import json
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tunix_rt import __version__
from tunix_rt.base.errors import DataError, MissingExtraError
from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.base.settings import Settings
from tunix_rt.engines.parity.runs import (
    ADAPTERS,
    MODEL,
    ComparisonRequest,
    FinishedRun,
    load_short_recipe,
    run_child,
    train_in_child,
)
from tunix_rt.engines.parity.types import (
    MAX_LOSS_DIFFERENCE,
    MAX_WEIGHT_DIFFERENCE,
    DeterminismReport,
    ParityCertificate,
    RepeatedRun,
)
from tunix_rt.engines.select import ENGINES, choose_engine, platforms, this_machine
from tunix_rt.engines.training.data import dataset_rows
from tunix_rt.engines.types import EngineName, Platform
from tunix_rt.engines.weights.sources import weights_hash
from tunix_rt.recipes.load import ResolvedRecipe


@dataclass(frozen=True)
class WeightDifference:
    """The largest difference over all numbers of all tensors."""

    largest: float
    tensor: str
    """The tensor with the largest difference."""
    num_weights: int
    """Numbers that were compared."""


def compare_weights(first: Path, second: Path) -> WeightDifference:
    """Compare two directories of tensors, one tensor at a time.

    Raises:
        DataError: Their tensors have different names.
    """
    files, other_files = _files_by_tensor(first), _files_by_tensor(second)
    if files.keys() != other_files.keys():
        differing = ", ".join(sorted(files.keys() ^ other_files.keys())[:3])
        raise DataError(
            f"The two runs exported different tensors: {differing}.",
            next_step="Report this with the recipe: both engines should write the same layout.",
        )
    largest, tensor, num_weights = 0.0, min(files), 0
    for name in sorted(files):
        values, other_values = _values(files[name], name), _values(other_files[name], name)
        difference = float(np.abs(values - other_values).max())
        num_weights += values.size
        if difference > largest:
            largest, tensor = difference, name
    return WeightDifference(largest, tensor, num_weights)


def _values(path: Path, tensor: str) -> NDArray[np.float32]:
    # Both engines depend on it; the package itself does not.
    from safetensors import safe_open

    with safe_open(path, "numpy") as opened:
        if opened.get_slice(tensor).get_dtype() != "BF16":
            values: NDArray[np.float32] = opened.get_tensor(tensor).astype(np.float32)
            return values
    # NumPy has no bfloat16, whose bits are the upper half of a float32.
    with path.open("rb") as file:
        num_header_bytes = int.from_bytes(file.read(8), "little")
        start, end = json.loads(file.read(num_header_bytes))[tensor]["data_offsets"]
        file.seek(8 + num_header_bytes + start)
        upper_halves = np.frombuffer(file.read(end - start), "<u2")
    return (upper_halves.astype(np.uint32) << 16).view(np.float32)


def _files_by_tensor(directory: Path) -> dict[str, Path]:
    from safetensors import safe_open

    files: dict[str, Path] = {}
    for path in sorted(directory.glob("*.safetensors")):
        with safe_open(path, "numpy") as opened:
            files |= dict.fromkeys(opened.keys(), path)
    return files


OnStage = Callable[[str], None]
"""Called with a description of each stage."""


def measure_determinism(
    settings: Settings, request: ComparisonRequest, *, on_stage: OnStage = lambda _: None
) -> DeterminismReport:
    """Train twice with every installed engine on every available platform, and compare bit for bit.

    Raises:
        MissingExtraError: No engine is installed.
        TunixRTError: An engine could not train the recipe.
    """
    machine = this_machine()
    combinations = [(engine, platform) for engine in ENGINES for platform in platforms(engine, machine)]
    if not combinations:
        raise MissingExtraError("Training", extra="jax")
    resolved = load_short_recipe(request, across_engines=False)
    dataset_rows(settings, resolved.recipe)  # fails on an unknown key before anything is trained
    with storage_errors("making the home directory"):
        settings.home_dir.mkdir(parents=True, exist_ok=True)
    # In the home directory: weights may be too large for the temporary disk.
    with tempfile.TemporaryDirectory(dir=settings.home_dir, prefix=".determinism-") as work:
        recipe_file = Path(work) / "recipe.json"
        write_json_atomically(recipe_file, resolved.to_json(), what="writing the recipe")
        repeats = []
        for engine, platform in combinations:
            runs = []
            for attempt in ("first", "second"):
                on_stage(f"training with the {engine} engine on the {platform.upper()}, {attempt} time")
                directory = Path(work) / f"{engine}-{platform}-{attempt}"
                home = settings.home_dir
                runs.append(train_in_child(engine, recipe_file, directory, home=home, device=platform))
            repeats.append(compare_runs(platform, *runs))
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


def _hash_of(model: Path) -> str:
    return weights_hash({"model": model}, lambda _: None) or ""


def certify_parity(
    settings: Settings, request: ComparisonRequest, *, on_stage: OnStage = lambda _: None
) -> tuple[ParityCertificate, Path]:
    """Train with both engines from the same weights, compare the runs, and save the certificate.

    Raises:
        MissingExtraError: An engine is not installed.
        TunixRTError: An engine could not train the recipe.
    """
    for engine in ENGINES:
        choose_engine(engine, "cpu", this_machine())
    resolved = load_short_recipe(request, across_engines=True)
    dataset_rows(settings, resolved.recipe)  # fails on an unknown key before weights are initialized
    with storage_errors("making the directory of certificates"):
        settings.parity_dir.mkdir(parents=True, exist_ok=True)
    # In the certificates directory: weights may be too large for the temporary disk.
    with tempfile.TemporaryDirectory(dir=settings.parity_dir, prefix=".work-") as work:
        runs = _trained(settings.home_dir, resolved, Path(work), on_stage)
        on_stage("comparing the weights")
        certificate = build_certificate(request.recipe_path.stem, resolved, *runs)
    path = settings.parity_dir / f"{certificate.certificate_id}.json"
    write_json_atomically(path, certificate.to_json(), what="writing the certificate")
    return certificate, path


def _trained(
    home: Path, resolved: ResolvedRecipe, work: Path, on_stage: OnStage
) -> tuple[FinishedRun, FinishedRun]:
    recipe, recipe_path = resolved.recipe, work / "recipe.json"
    write_json_atomically(recipe_path, resolved.to_json(), what="writing the recipe")
    if recipe.model.weights == "random" or recipe.lora is not None:
        on_stage("creating the initial weights of both engines")
        command = ["tunix_rt.engines.jax.parity_start", str(recipe_path), str(work)]
        run_child("Creating the initial weights", command, home)
    if recipe.model.weights == "random":
        model = recipe.model.model_copy(update={"name": str(work / MODEL), "weights": "pretrained"})
        resolved = resolved.model_copy(update={"recipe": recipe.model_copy(update={"model": model})})
        write_json_atomically(recipe_path, resolved.to_json(), what="writing the recipe")
    adapters = None if recipe.lora is None else work / ADAPTERS

    def train(engine: EngineName) -> FinishedRun:
        on_stage(f"training with the {engine} engine on the CPU")
        return train_in_child(engine, recipe_path, work / engine, home=home, adapters=adapters)

    return train("jax"), train("torch")


def build_certificate(
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
        passed=batches_equal
        and differences[worst] <= MAX_LOSS_DIFFERENCE
        and weights.largest <= MAX_WEIGHT_DIFFERENCE,
    )
