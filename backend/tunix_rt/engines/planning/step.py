"""Sizes, FLOPs and stored bytes of one training step.

A product of [m, k] and [k, n] takes 2 m k n FLOPs. Per token and weight that is 2 forward, 2 for the gradient
of the input and 2 for the gradient of the weight, which frozen weights do not need.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.kernels import (
    KernelChoice,
    Setting,
    TorchKernelChoice,
    resolve_compiling,
    resolve_kernel,
    resolve_torch_kernel,
)
from tunix_rt.engines.planning.limits import (
    MeshShape,
    check_blocks,
    mesh_shape,
    require_torch_format,
    require_torch_mesh,
    rows_per_device,
)
from tunix_rt.engines.planning.targets import Target
from tunix_rt.engines.types import EngineName, Platform
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import FloatFormat, Recipe
from tunix_rt.tokenization.packing import BatchSettings


def model_flops_per_token(architecture: Architecture, recipe: Recipe) -> float:
    """FLOPs that a trained token requires, however they are computed."""
    per_weight = 6 if recipe.training.mode == "full" else 4
    adapters = 6 * num_adapter_parameters(architecture, recipe)
    layers = architecture.num_layers * architecture.num_matrix_parameters_per_layer
    matrices = per_weight * (layers + architecture.vocab_size * architecture.hidden_size)
    # The two products of attention have no weights, but both inputs need a gradient in every mode.
    return matrices + adapters + 3 * attention_flops_per_token(architecture, recipe.data.row_length)


def model_flops(
    architecture: Architecture, recipe: Recipe, *, num_tokens: int, num_trained_tokens: int
) -> float:
    """FLOPs that a step requires: the numerator of the model FLOPs utilisation (MFU).

    Prompt tokens need no logits, so their logits are not counted.
    """
    per_weight = 6 if recipe.training.mode == "full" else 4
    head = per_weight * architecture.vocab_size * architecture.hidden_size
    per_token = model_flops_per_token(architecture, recipe)
    return num_tokens * per_token - (num_tokens - num_trained_tokens) * head


def executed_flops_per_token(architecture: Architecture, recipe: Recipe) -> float:
    """FLOPs per token with recomputation: `remat: block` runs the forward pass of every layer twice."""
    flops = model_flops_per_token(architecture, recipe)
    if recipe.training.remat != "block":
        return flops
    layers = 2 * architecture.num_layers * architecture.num_matrix_parameters_per_layer
    return flops + layers + attention_flops_per_token(architecture, recipe.data.row_length)


def num_adapter_parameters(architecture: Architecture, recipe: Recipe) -> int:
    """Weights of the LoRA adapters; 0 in full mode.

    Example:
        rank 4 on one matrix [64, 128] of 2 layers -> 2 * 4 * (64 + 128) = 1,536
    """
    if recipe.lora is None:
        return 0
    widths = sum(sum(architecture.matrix_shapes[target]) for target in recipe.lora.targets)
    return architecture.num_layers * recipe.lora.rank * widths


def attention_flops_per_token(architecture: Architecture, row_length: int) -> float:
    """Scores and weighted values of one forward pass, averaged over the tokens of a full causal row."""
    flops = 0.0
    for window in architecture.layer_windows:
        reach = min(window or row_length, row_length)
        # Token t sees min(t, reach) tokens: a triangle, then a band.
        mean_reach = reach - reach * (reach - 1) / (2 * row_length)
        flops += 4 * architecture.num_heads * architecture.head_dim * mean_reach
    return flops


def batch_settings(recipe: Recipe) -> BatchSettings:
    """How a recipe arranges examples in batches."""
    return BatchSettings(
        row_length=recipe.data.row_length,
        rows_per_batch=recipe.training.batch_size,
        packed=recipe.data.packing,
        seed=recipe.training.seed,
        overlong=recipe.data.overlong,
    )


def num_steps(recipe: Recipe, batches_per_epoch: int) -> int:
    """The steps of a whole run: the recipe names them, or epochs, at least one step."""
    if recipe.training.num_steps is not None:
        return recipe.training.num_steps
    assert recipe.training.num_epochs is not None  # the recipe has one of the two
    return max(1, math.ceil(recipe.training.num_epochs * batches_per_epoch))


NUM_BYTES: dict[FloatFormat, int] = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True)
class StepShape:
    """The sizes of a step of one recipe on one mesh, per device."""

    recipe: Recipe
    architecture: Architecture
    mesh: MeshShape
    platform: Platform
    rows: int
    """Rows computed at a time."""
    attention: KernelChoice | TorchKernelChoice
    engine: EngineName = "jax"

    @property
    def tokens(self) -> int:
        """Tokens computed at a time."""
        return self.rows * self.recipe.data.row_length

    @cached_property
    def scored_tokens(self) -> int:
        """Tokens whose logits exist at a time; the JAX engine processes whole columns of the batch."""
        chunk = self.recipe.training.loss_chunk_tokens
        if chunk is None:
            return self.tokens
        if self.engine == "torch":
            return min(chunk, self.tokens)
        all_rows = self.rows * self.mesh.num_batch_parts
        return self.rows * min(max(1, chunk // all_rows), self.recipe.data.row_length)

    @property
    def is_compiled(self) -> bool:
        """Whether the torch engine compiles the layers."""
        num_steps, num_processes = self.recipe.training.num_steps, self.mesh.num_devices
        choice = resolve_compiling(
            self.recipe, self.platform, num_steps=num_steps, num_processes=num_processes
        )
        return self.engine == "torch" and choice.is_on

    @property
    def is_full(self) -> bool:
        """Whether all weights are trained, not just adapters."""
        return self.recipe.training.mode == "full"

    @property
    def num_weight_parts(self) -> int:
        """Devices that one copy of the weights is sharded over."""
        return self.mesh.fsdp * self.mesh.tensor

    @property
    def compute_bytes(self) -> int:
        """Bytes of an activation."""
        return NUM_BYTES[self.recipe.training.precision.compute]

    @property
    def weight_bytes(self) -> int:
        """Bytes of a stored weight that is not quantised."""
        return NUM_BYTES[self.recipe.training.precision.weights]

    @property
    def is_summed(self) -> bool:
        """Whether gradients are summed over the parts of a batch."""
        return self.recipe.training.gradient_accumulation_steps > 1

    @property
    def is_cast(self) -> bool:
        """Whether weights are stored in another format than they compute in."""
        return self.weight_bytes != self.compute_bytes

    @property
    def num_embedding(self) -> int:
        """Weights of the embedding and of an untied head, over all devices."""
        return self.num_head if self.architecture.is_embedding_tied else 2 * self.num_head

    @property
    def num_head(self) -> int:
        """Weights of the output embedding, over all devices."""
        return self.architecture.vocab_size * self.architecture.hidden_size

    @cached_property
    def num_largest_matrix(self) -> int:
        """Weights of the largest tensor: the embedding, or one matrix of all layers."""
        stacks = [rows * columns for rows, columns in self.architecture.matrix_shapes.values()]
        return max(self.num_head, self.architecture.num_layers * max(stacks))

    @cached_property
    def num_layer_matrices(self) -> int:
        """Weights of the matrices of all layers, over all devices."""
        return self.architecture.num_layers * self.architecture.num_matrix_parameters_per_layer

    @cached_property
    def num_trained(self) -> int:
        """Trained weights, over all devices."""
        if self.is_full:
            return self.architecture.num_parameters
        return num_adapter_parameters(self.architecture, self.recipe)

    @property
    def num_factors(self) -> int:
        """Numbers in Adafactor's state: a row and a column per matrix, one per weight of a norm."""
        architecture, lora = self.architecture, self.recipe.lora
        if lora is not None:
            shapes = [architecture.matrix_shapes[target] for target in lora.targets]
            return architecture.num_layers * sum(sum(shape) + 2 * lora.rank for shape in shapes)
        norms = architecture.num_parameters - self.num_embedding - self.num_layer_matrices
        embedding = self.num_embedding // architecture.hidden_size + architecture.hidden_size
        return (
            architecture.num_layers * sum(map(sum, architecture.matrix_shapes.values())) + embedding + norms
        )


def step_shape(
    recipe: Recipe, architecture: Architecture, target: Target, engine: EngineName = "jax"
) -> StepShape:
    """The step of a recipe on a target, as an engine runs it.

    Raises:
        InvalidInputError: The mesh or the rows cannot be split over the target's devices, the requested
            attention kernel cannot be used there, the quantization blocks do not divide the matrices, or the
            engine does not support the recipe.
    """
    if recipe.quantization is not None:
        check_blocks(recipe.quantization, architecture)
    mesh = mesh_shape(recipe.sharding, target.num_devices)
    if engine == "torch":
        if target.platform == "tpu":
            raise InvalidInputError(
                f"The torch engine does not run on {target.name}.",
                next_step="Plan with --engine jax for a TPU, or choose a GPU with --on.",
            )
        require_torch_mesh(recipe, mesh)
        require_torch_format(recipe.training.precision.compute, target.device_kind, target.compute_capability)
    rows = rows_per_device(mesh, architecture, recipe.training)
    setting = Setting(
        architecture=architecture,
        platform=target.platform,
        row_length=recipe.data.row_length,
        compute=recipe.training.precision.compute,
        compute_capability=target.compute_capability,
        num_tensor_shards=mesh.tensor,
    )
    resolve = resolve_kernel if engine == "jax" else resolve_torch_kernel
    attention = resolve(recipe.training.attention, setting)
    return StepShape(recipe, architecture, mesh, target.platform, rows, attention, engine)


def stored_weight_bytes(step: StepShape) -> float:
    """Weights stored between steps: frozen ones, trained ones, adapters."""
    if step.is_full:
        return step.num_trained * step.weight_bytes / step.num_weight_parts
    others = (step.architecture.num_parameters - step.num_layer_matrices) * step.weight_bytes
    quantization = step.recipe.quantization
    if quantization is not None:
        matrix_bytes = {"nf4": 0.5, "int8": 1.0}[quantization.format] + 4 / quantization.block_size
    else:
        # Torch multiplies numbers of one format only, so frozen matrices are stored in the compute format.
        matrix_bytes = step.compute_bytes if step.engine == "torch" else step.weight_bytes
    frozen = others + step.num_layer_matrices * matrix_bytes
    return (frozen + step.num_trained * 4) / step.num_weight_parts


def optimizer_state_bytes(step: StepShape) -> float:
    """Two moments per trained weight, or Adafactor's rows and columns, which are always float32."""
    training = step.recipe.training
    if training.optimizer.name == "adafactor":
        return step.num_factors * 4  # small, and copied to every device
    moment = NUM_BYTES[training.precision.optimizer_state]
    return 2 * step.num_trained * moment / step.num_weight_parts
