"""A recipe as compiled programs on a mesh: what trains and what the planner compiles.

Building one allocates nothing and asks for no device, so the mesh may be one that is only described.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh
from numpy.typing import NDArray

from tunix_rt.engines.jax.model.decoder import ForwardOptions
from tunix_rt.engines.jax.model.lora import Adapters, abstract_adapters, adapter_scale, init_adapters
from tunix_rt.engines.jax.model.params import (
    Params,
    RandomKeys,
    abstract_params,
    abstract_unstacked,
    init_params,
    random_keys,
    unstacked,
)
from tunix_rt.engines.jax.model.quantization import abstract_quantized, quantize, quantize_tensor
from tunix_rt.engines.jax.sharding import (
    activation_sharding,
    batch_sharding,
    check_divisible,
    replicated,
    state_shardings,
)
from tunix_rt.engines.jax.training.optimizer import learning_rate_at, make_optimizer
from tunix_rt.engines.jax.training.state import StepMetrics, TrainState, initial_state
from tunix_rt.engines.jax.training.step import DeviceBatch, StepParts, train_step, validation_step
from tunix_rt.engines.planning.kernels import KernelChoice, Platform, Setting, resolve_kernel
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import LoraSection, Recipe
from tunix_rt.tokenization.packing import Batch

_BATCH_ARRAYS = ("tokens", "targets", "loss_mask", "segment_ids", "positions")


@dataclass(frozen=True, eq=False)
class Program:
    """The compiled parts of a run, and the shapes and places of everything that they take."""

    recipe: Recipe
    architecture: Architecture
    mesh: Mesh
    attention: KernelChoice
    """Kernel of the attention, and why."""
    parts: StepParts
    abstract_params: Params
    """The whole model in the format of the recipe, with shardings: what loading must give."""
    abstract_state: TrainState
    abstract_frozen: Any
    abstract_batch: dict[str, jax.ShapeDtypeStruct]

    @property
    def options(self) -> ForwardOptions:
        """How the forward pass is computed."""
        return self.parts.options

    @cached_property
    def train_step(self) -> Callable[[TrainState, Any, DeviceBatch], tuple[TrainState, StepMetrics]]:
        """(state, frozen, batch) -> (state, metrics); the old state is used up when buffers are donated."""
        return jax.jit(
            partial(train_step, self.parts),
            donate_argnums=(0,) if self.recipe.training.donate_buffers else (),
            out_shardings=(_shardings(self.abstract_state), replicated(self.mesh)),
        )

    @cached_property
    def validation_step(self) -> Callable[[Any, Any, DeviceBatch], tuple[Array, Array]]:
        """(trainable, frozen, batch) -> sum of losses, number of trained tokens."""
        return jax.jit(partial(validation_step, self.parts), out_shardings=replicated(self.mesh))

    def put_batch(self, batch: Batch) -> DeviceBatch:
        """Send a batch to the devices. With several processes, each sends the rows of its own devices."""
        return {
            name: _put(getattr(batch, name).reshape(abstract.shape), abstract)
            for name, abstract in self.abstract_batch.items()
        }

    def random_params(self) -> Params:
        """Random weights from the recipe's seed, made where they will live."""
        dtype = jnp.dtype(self.recipe.training.precision.weights)
        make = jax.jit(
            lambda: init_params(self.architecture, _keys(self.recipe).weights, dtype),
            out_shardings=_shardings(self.abstract_params),
        )
        params: Params = make()
        return params

    def stored(self, name: str, weight: Array) -> Any:
        """A loaded tensor as the run keeps it: quantised at once where the recipe asks for that."""
        section = self.recipe.quantization
        return weight if section is None else quantize_tensor(name, weight, section)

    def init_state(self, params: Params, adapters: Adapters | None = None) -> tuple[TrainState, Any]:
        """The state before the first step, and the frozen weights. `params` must not be used afterwards.

        LoRA starts from `adapters`, or from random ones.
        """
        trainable, frozen = self._split(params, adapters)
        start = jax.jit(
            lambda weights: initial_state(weights, self.parts.optimizer, _keys(self.recipe).steps),
            out_shardings=_shardings(self.abstract_state),
            donate_argnums=0,
        )
        return start(trainable), frozen

    def _split(self, params: Params, adapters: Adapters | None) -> tuple[Any, Any]:
        lora, quantization = self.recipe.lora, self.recipe.quantization
        if lora is None:
            return jax.device_put(params, _shardings(self.abstract_params)), {}
        trainable = self.random_adapters(lora) if adapters is None else adapters
        trainable = jax.device_put(trainable, _shardings(self.abstract_state.trainable))
        frozen = params if quantization is None else quantize(params, quantization)
        places = _shardings(self.abstract_frozen)
        if self.options.unrolls_layers:
            return trainable, unstacked(frozen, places)
        return trainable, jax.device_put(frozen, places)

    def random_adapters(self, lora: LoraSection) -> Adapters:
        """Adapters that change nothing yet, from the recipe's seed, made where they will live."""
        make = jax.jit(
            lambda: init_adapters(self.architecture, lora, _keys(self.recipe).adapters),
            out_shardings=_shardings(self.abstract_state.trainable),
        )
        adapters: Adapters = make()
        return adapters


def _keys(recipe: Recipe) -> RandomKeys:
    return random_keys(recipe.training.seed)


def build_program(
    recipe: Recipe, architecture: Architecture, mesh: Mesh, *, num_steps: int, platform: Platform
) -> Program:
    """Everything that training needs, from shapes alone.

    Args:
        recipe: What to train and how.
        architecture: The shape of the model.
        mesh: Devices, real or described, as `sharding.make_mesh` lays them out.
        num_steps: Updates of the whole run: the schedule ends with them.
        platform: What the devices are; decides the attention kernel.

    Raises:
        InvalidInputError: The batch or the heads cannot be split over the mesh, or a kernel cannot serve.
    """
    training = recipe.training
    check_divisible(mesh, architecture, training)
    attention = _resolve_attention(recipe, architecture, mesh, platform)
    optimizer = make_optimizer(training, num_steps)
    params = _placed(abstract_params(architecture, training.precision.weights), mesh, architecture)
    options = _forward_options(recipe, attention, mesh, platform)
    trainable, frozen = _abstract_split(recipe, architecture, params, options)
    state = _placed(
        jax.eval_shape(lambda: initial_state(_zeros(trainable), optimizer, _keys(recipe).steps)),
        mesh,
        architecture,
    )
    parts = StepParts(
        training=training,
        architecture=architecture,
        options=options,
        optimizer=optimizer,
        learning_rate=learning_rate_at(training, num_steps),
        gradient_shardings=_shardings(state.trainable),
    )
    return Program(
        recipe=recipe,
        architecture=architecture,
        mesh=mesh,
        attention=attention,
        parts=parts,
        abstract_params=params,
        abstract_state=state,
        abstract_frozen=_placed(frozen, mesh, architecture),
        abstract_batch=_abstract_batch(recipe, mesh),
    )


def _abstract_split(
    recipe: Recipe, architecture: Architecture, params: Params, options: ForwardOptions
) -> tuple[Any, Any]:
    """Which weights are trained and which are frozen."""
    if recipe.lora is None:
        return params, {}
    adapters = abstract_adapters(architecture, recipe.lora)
    frozen = params if recipe.quantization is None else abstract_quantized(params, recipe.quantization)
    return adapters, abstract_unstacked(frozen, architecture.num_layers) if options.unrolls_layers else frozen


def _resolve_attention(
    recipe: Recipe, architecture: Architecture, mesh: Mesh, platform: Platform
) -> KernelChoice:
    capability = getattr(mesh.devices.flat[0], "compute_capability", None)
    setting = Setting(
        architecture=architecture,
        platform=platform,
        row_length=recipe.data.row_length,
        compute=recipe.training.precision.compute,
        compute_capability=None if capability is None else _version(capability),
        num_tensor_shards=mesh.shape["tensor"],
    )
    return resolve_kernel(recipe.training.attention, setting)


def _version(text: str) -> tuple[int, int]:
    """Major and minor: "9.0" -> (9, 0)."""
    major, minor = text.split(".")
    return int(major), int(minor)


def _forward_options(
    recipe: Recipe, attention: KernelChoice, mesh: Mesh, platform: Platform
) -> ForwardOptions:
    lora = recipe.lora
    return ForwardOptions(
        compute_dtype=jnp.dtype(recipe.training.precision.compute),
        remat=recipe.training.remat,
        attention=attention.kernel,
        adapter_scale=1.0 if lora is None else adapter_scale(lora),
        adapter_dropout=0.0 if lora is None else lora.dropout,
        activation_sharding=activation_sharding(mesh),
        unrolls_layers=platform == "gpu",
    )


def _abstract_batch(recipe: Recipe, mesh: Mesh) -> dict[str, jax.ShapeDtypeStruct]:
    num_parts = recipe.training.gradient_accumulation_steps
    shape = (num_parts, recipe.training.batch_size // num_parts, recipe.data.row_length)
    return {
        name: jax.ShapeDtypeStruct(
            shape, jnp.uint8 if name == "loss_mask" else jnp.int32, sharding=batch_sharding(mesh)
        )
        for name in _BATCH_ARRAYS
    }


def _zeros(abstract: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), abstract)


def _placed(abstract: Any, mesh: Mesh, architecture: Architecture) -> Any:
    return jax.tree.map(
        lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
        abstract,
        state_shardings(abstract, mesh, architecture),
    )


def _shardings(abstract: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.sharding, abstract)


def _put(array: NDArray[Any], abstract: jax.ShapeDtypeStruct) -> Array:
    contiguous = np.ascontiguousarray(array)
    return jax.make_array_from_callback(abstract.shape, abstract.sharding, lambda index: contiguous[index])
