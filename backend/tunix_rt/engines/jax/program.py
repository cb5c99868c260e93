"""A recipe as compiled programs on a mesh, for training and for the planner.

Building a program allocates nothing and needs no device, so the mesh may be a description of absent devices.
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

from tunix_rt.engines.jax.model.decoder import ForwardOptions
from tunix_rt.engines.jax.model.lora import Adapters, abstract_adapters, adapter_scale, init_adapters
from tunix_rt.engines.jax.model.params import (
    Params,
    abstract_params,
    abstract_unstack,
    init_params,
    random_keys,
    unstack,
)
from tunix_rt.engines.jax.model.quantization import abstract_quantized, quantize, quantize_tensor
from tunix_rt.engines.jax.sharding import (
    activation_sharding,
    batch_sharding,
    replicated,
    state_shardings,
)
from tunix_rt.engines.jax.training.optimizer import learning_rate_at, make_optimizer
from tunix_rt.engines.jax.training.state import StepMetrics, TrainState, initial_state
from tunix_rt.engines.jax.training.step import DeviceBatch, StepParts, train_step, validation_step
from tunix_rt.engines.planning.kernels import KernelChoice, Setting, resolve_kernel
from tunix_rt.engines.planning.limits import MeshShape, rows_per_device
from tunix_rt.engines.types import Platform
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import LoraSection, Recipe
from tunix_rt.tokenization.packing import Batch

_BATCH_ARRAYS = ("tokens", "targets", "loss_mask", "segment_ids", "positions")


@dataclass(frozen=True, eq=False)
class Program:
    """The compiled programs of a run, and the shapes and shardings of their inputs."""

    recipe: Recipe
    architecture: Architecture
    mesh: Mesh
    attention: KernelChoice
    """The attention kernel and the reason for it."""
    parts: StepParts
    abstract_params: Params
    """Shapes, formats and shardings that loading the model must produce."""
    abstract_state: TrainState
    abstract_frozen: Any
    abstract_batch: dict[str, jax.ShapeDtypeStruct]

    @cached_property
    def train_step(self) -> Callable[[TrainState, Any, DeviceBatch], tuple[TrainState, StepMetrics]]:
        """(state, frozen, batch) -> (state, metrics); the old state is invalid if buffers are donated."""
        return jax.jit(
            partial(train_step, self.parts),
            donate_argnums=(0,) if self.recipe.training.donate_buffers else (),
            out_shardings=(_shardings(self.abstract_state), replicated(self.mesh)),
        )

    @cached_property
    def validation_step(self) -> Callable[[Any, Any, DeviceBatch], tuple[Array, Array]]:
        """(trainable, frozen, batch) -> (sum of losses, number of trained tokens)."""
        return jax.jit(partial(validation_step, self.parts), out_shardings=replicated(self.mesh))

    def put_batch(self, batch: Batch) -> DeviceBatch:
        """Transfer a batch to the devices; each process transfers the rows of its own devices."""
        arrays = {
            name: np.ascontiguousarray(getattr(batch, name).reshape(abstract.shape))
            for name, abstract in self.abstract_batch.items()
        }
        return {
            name: jax.make_array_from_callback(abstract.shape, abstract.sharding, arrays[name].__getitem__)
            for name, abstract in self.abstract_batch.items()
        }

    def random_params(self) -> Params:
        """Random weights from the recipe's seed, created with their final sharding."""
        dtype = jnp.dtype(self.recipe.training.precision.weights)
        init = jax.jit(
            lambda: init_params(self.architecture, random_keys(self.recipe.training.seed).weights, dtype),
            out_shardings=_shardings(self.abstract_params),
        )
        params: Params = init()
        return params

    def to_stored_format(self, name: str, weight: Array) -> Any:
        """Convert a loaded tensor to the format of the run: quantise it if the recipe says so."""
        section = self.recipe.quantization
        return weight if section is None else quantize_tensor(name, weight, section)

    def init_state(self, params: Params, adapters: Adapters | None = None) -> tuple[TrainState, Any]:
        """The state before the first step, and the frozen weights. `params` must not be used afterwards.

        LoRA starts from `adapters`, or from random adapters if None.
        """
        lora, quantization = self.recipe.lora, self.recipe.quantization
        frozen: Any = {}
        if lora is None:
            trainable = jax.device_put(params, _shardings(self.abstract_params))
        else:
            trainable = self.random_adapters(lora) if adapters is None else adapters
            trainable = jax.device_put(trainable, _shardings(self.abstract_state.trainable))
            frozen = params if quantization is None else quantize(params, quantization)
            shardings = _shardings(self.abstract_frozen)
            unrolls = self.parts.options.unrolls_layers
            frozen = unstack(frozen, shardings) if unrolls else jax.device_put(frozen, shardings)
        init = jax.jit(
            lambda weights: initial_state(
                weights, self.parts.optimizer, random_keys(self.recipe.training.seed).steps
            ),
            out_shardings=_shardings(self.abstract_state),
            donate_argnums=0,
        )
        return init(trainable), frozen

    def random_adapters(self, lora: LoraSection) -> Adapters:
        """Initial adapters from the recipe's seed, created with their final sharding."""
        init = jax.jit(
            lambda: init_adapters(self.architecture, lora, random_keys(self.recipe.training.seed).adapters),
            out_shardings=_shardings(self.abstract_state.trainable),
        )
        adapters: Adapters = init()
        return adapters


def build_program(
    recipe: Recipe, architecture: Architecture, mesh: Mesh, *, num_steps: int, platform: Platform
) -> Program:
    """Build the programs of a training run from shapes alone.

    Args:
        recipe: The training recipe.
        architecture: The shape of the model.
        mesh: A mesh of real or described devices from `sharding.make_mesh`.
        num_steps: Number of updates of the whole run, the length of the schedule.
        platform: Platform of the devices, which decides the attention kernel.

    Raises:
        InvalidInputError: The batch or the heads do not divide over the mesh, or the requested kernel is not
            supported here.
    """
    training = recipe.training
    # Refuses rows or heads that cannot be split evenly.
    rows_per_device(MeshShape(**mesh.shape), architecture, training)
    attention = _resolve_attention(recipe, architecture, mesh, platform)
    optimizer = make_optimizer(training, num_steps)
    params = _with_shardings(abstract_params(architecture, training.precision.weights), mesh, architecture)
    options = ForwardOptions(
        compute_dtype=jnp.dtype(training.precision.compute),
        remat=training.remat,
        attention=attention.kernel,
        adapter_scale=1.0 if recipe.lora is None else adapter_scale(recipe.lora),
        adapter_dropout=0.0 if recipe.lora is None else recipe.lora.dropout,
        activation_sharding=activation_sharding(mesh),
        unrolls_layers=platform == "gpu",
    )
    trainable, frozen = _abstract_split(recipe, architecture, params, options)
    state = _with_shardings(
        jax.eval_shape(
            lambda weights: initial_state(weights, optimizer, random_keys(training.seed).steps), trainable
        ),
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
        abstract_frozen=_with_shardings(frozen, mesh, architecture),
        abstract_batch=_abstract_batch(recipe, mesh),
    )


def _abstract_split(
    recipe: Recipe, architecture: Architecture, params: Params, options: ForwardOptions
) -> tuple[Any, Any]:
    """Shapes of the trained and the frozen weights."""
    if recipe.lora is None:
        return params, {}
    adapters = abstract_adapters(architecture, recipe.lora)
    frozen = params if recipe.quantization is None else abstract_quantized(params, recipe.quantization)
    return adapters, abstract_unstack(frozen, architecture.num_layers) if options.unrolls_layers else frozen


def _resolve_attention(
    recipe: Recipe, architecture: Architecture, mesh: Mesh, platform: Platform
) -> KernelChoice:
    # E.g. "9.0"; devices without CUDA have none.
    major, _, minor = getattr(mesh.devices.flat[0], "compute_capability", "").partition(".")
    setting = Setting(
        architecture=architecture,
        platform=platform,
        row_length=recipe.data.row_length,
        compute=recipe.training.precision.compute,
        compute_capability=(int(major), int(minor)) if major else None,
        num_tensor_shards=mesh.shape["tensor"],
    )
    return resolve_kernel(recipe.training.attention, setting)


def _abstract_batch(recipe: Recipe, mesh: Mesh) -> dict[str, jax.ShapeDtypeStruct]:
    num_parts = recipe.training.gradient_accumulation_steps
    shape = (num_parts, recipe.training.batch_size // num_parts, recipe.data.row_length)
    return {
        name: jax.ShapeDtypeStruct(
            shape, jnp.uint8 if name == "loss_mask" else jnp.int32, sharding=batch_sharding(mesh)
        )
        for name in _BATCH_ARRAYS
    }


def _with_shardings(abstract: Any, mesh: Mesh, architecture: Architecture) -> Any:
    return jax.tree.map(
        lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
        abstract,
        state_shardings(abstract, mesh, architecture),
    )


def _shardings(abstract: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.sharding, abstract)
