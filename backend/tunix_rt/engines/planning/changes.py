"""Changes of a recipe that save memory, each with what it does to the training."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import JsonValue

from tunix_rt.core.targets import Target
from tunix_rt.engines.planning.workload import Workload
from tunix_rt.recipes.types import Recipe

Values = Mapping[str, JsonValue]

_ROW_STEP = 128


@dataclass(frozen=True, eq=False)
class Change:
    """Keys to set and what that does to the training."""

    kind: str
    """Variants of one change have the same kind; a recipe takes one of them."""
    values: Values
    cost: str
    harm: int
    """0: the same training. The higher, the more another training it is."""

    @property
    def flags(self) -> str:
        """As it is typed: `--set training.remat=block`."""
        return " ".join(f"--set {key}={_as_yaml(value)}" for key, value in self.values.items())


def possible_changes(recipe: Recipe, target: Target, workload: Workload) -> list[Change]:
    """Everything that could be changed in this recipe, stronger variants of a change after weaker ones."""
    plain = recipe.model_dump(mode="json")
    changes = [change for kind in _KINDS for change in kind(recipe, target, workload)]
    return [replace(change, values=_different(change.values, plain)) for change in changes]


def _different(values: Values, plain: dict[str, Any]) -> Values:
    """Leave out keys that have the value already."""
    return {key: value for key, value in values.items() if _value_at(plain, key) != value}


def _value_at(plain: dict[str, Any], key: str) -> Any:
    found: Any = plain
    for name in key.split("."):
        found = found[name]
    return found


def changed_recipe(recipe: Recipe, values: Values) -> Recipe:
    """The recipe with these dotted keys set, validated anew.

    Raises:
        ValidationError: The keys do not go with the rest of the recipe.
    """
    plain = recipe.model_dump(mode="json")
    for key, value in values.items():
        section: dict[str, Any] = plain
        *path, last = key.split(".")
        for name in path:
            section = section[name]
        section[last] = value
    return Recipe.model_validate(plain)


def _as_yaml(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _donation(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if not recipe.training.donate_buffers:
        yield Change("donation", {"training.donate_buffers": True}, "nothing is lost", harm=0)


def _all_devices(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if target.num_devices == 1 or "auto" in recipe.sharding.model_dump().values():
        return
    use_all: dict[str, JsonValue] = {"sharding.fsdp": "auto"}
    rows = recipe.training.batch_size // recipe.training.gradient_accumulation_steps
    if rows % target.num_devices == 0:
        yield Change("devices", use_all, f"on {target.num_devices} devices", harm=0)
    else:
        by_tensor: Values = {"sharding.data": 1, "sharding.fsdp": 1, "sharding.tensor": "auto"}
        cost = f"{target.num_devices} devices share every product"
        yield Change("tensor", by_tensor, cost, harm=0)
        batch = target.num_devices * recipe.training.gradient_accumulation_steps
        cost = f"{batch} rows a step instead of {recipe.training.batch_size}, on all devices"
        yield Change("devices", {**use_all, "training.batch_size": batch}, cost, harm=3)


def _loss_chunks(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    now = recipe.training.loss_chunk_tokens
    for chunk in (1024, 256):
        if now is None or chunk < now:
            cost = "logits of fewer tokens at one time"
            yield Change("chunks", {"training.loss_chunk_tokens": chunk}, cost, harm=0)


def _attention(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if recipe.training.attention == "dense" and target.platform != "cpu":
        cost = "the fused attention of the device, where it can serve"
        yield Change("attention", {"training.attention": "auto"}, cost, harm=0)


def _remat(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if recipe.training.remat != "block":
        cost = "layers are computed twice"
        yield Change("remat", {"training.remat": "block"}, cost, harm=0)


def _accumulation(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    parts = recipe.training.gradient_accumulation_steps
    for factor in (2, 4, 8, 16, 32):
        more = parts * factor
        if recipe.training.batch_size % more == 0:
            cost = f"each batch in {more} parts"
            yield Change("accumulation", {"training.gradient_accumulation_steps": more}, cost, harm=0)


def _row_length(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if workload.longest_example is None:
        return
    enough = -(-workload.longest_example // _ROW_STEP) * _ROW_STEP
    if enough < recipe.data.row_length:
        cost = f"fewer tokens a step; every example still fits (longest: {workload.longest_example})"
        yield Change("row length", {"data.row_length": enough}, cost, harm=1)


def _precision(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    precision = recipe.training.precision
    if precision.compute != "bfloat16":
        yield Change("compute", {"training.precision.compute": "bfloat16"}, "activations in bfloat16", harm=1)
    if recipe.training.optimizer.name == "adamw" and precision.optimizer_state != "bfloat16":
        cost = "moments of the optimizer in bfloat16"
        yield Change("moments", {"training.precision.optimizer_state": "bfloat16"}, cost, harm=1)
    if precision.weights == "bfloat16":
        return
    if recipe.training.mode == "full":
        values: Values = {
            "training.precision.weights": "bfloat16",
            "training.precision.stochastic_rounding": True,
        }
        yield Change("weights", values, "bfloat16 weights, rounded at random so that they still move", harm=2)
    else:
        yield Change(
            "weights", {"training.precision.weights": "bfloat16"}, "frozen weights in bfloat16", harm=1
        )


def _optimizer(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if recipe.training.optimizer.name != "adafactor":
        values: Values = {
            "training.optimizer": "adafactor",
            "training.precision.optimizer_state": "float32",
        }
        yield Change("optimizer", values, "another optimizer, without moments", harm=2)


def _mode(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    frozen: dict[str, JsonValue] = {"training.precision.weights": "bfloat16"}
    if recipe.training.precision.stochastic_rounding:
        frozen["training.precision.stochastic_rounding"] = False
    if recipe.training.mode == "full":
        cost = "trains adapters of rank 16 on frozen bfloat16 weights"
        yield Change("lora", {"training.mode": "lora", **frozen}, cost, harm=4)
    if recipe.training.mode != "qlora":
        cost = "trains adapters on frozen weights of 4 bits"
        yield Change("qlora", {"training.mode": "qlora", **frozen}, cost, harm=5)


_KINDS: tuple[Callable[[Recipe, Target, Workload], Iterator[Change]], ...] = (
    _donation,
    _all_devices,
    _loss_chunks,
    _attention,
    _remat,
    _accumulation,
    _row_length,
    _precision,
    _optimizer,
    _mode,
)
