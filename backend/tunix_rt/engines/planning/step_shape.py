"""The sizes that decide what one training step needs on one device."""

from dataclasses import dataclass
from functools import cached_property

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.core.targets import Platform, Target
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.attention_kernel import Choice, Setting, resolve_kernel
from tunix_rt.engines.base import EngineName
from tunix_rt.engines.flops import num_adapter_parameters
from tunix_rt.engines.mesh_shape import MeshShape, mesh_shape, rows_per_device
from tunix_rt.engines.quantization_blocks import check_blocks
from tunix_rt.engines.torch_compiling import resolve_compiling
from tunix_rt.engines.torch_kernels import TorchChoice, resolve_torch_kernel
from tunix_rt.engines.torch_limits import require_torch_format, require_torch_mesh
from tunix_rt.recipes.types import FloatFormat, Recipe

NUM_BYTES: dict[FloatFormat, int] = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True)
class StepShape:
    """One recipe on one mesh; everything is counted per device."""

    recipe: Recipe
    architecture: Architecture
    mesh: MeshShape
    platform: Platform
    rows: int
    """Rows that are computed at one time."""
    attention: Choice | TorchChoice
    engine: EngineName = "jax"

    @property
    def tokens(self) -> int:
        """Tokens that are computed at one time."""
        return self.rows * self.recipe.data.row_length

    @cached_property
    def scored_tokens(self) -> int:
        """Tokens whose logits exist at one time; the JAX engine walks whole columns of the batch."""
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
        """Whether all weights are trained, not adapters."""
        return self.recipe.training.mode == "full"

    @property
    def num_weight_parts(self) -> int:
        """Devices that share one copy of the weights."""
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

    @cached_property
    def num_embedding(self) -> int:
        """Weights of the embedding and, where it is another matrix, the head; over all devices."""
        copies = 1 if self.architecture.is_embedding_tied else 2
        return copies * self.architecture.vocab_size * self.architecture.hidden_size

    @property
    def num_head(self) -> int:
        """Weights of the matrix that makes the logits, over all devices."""
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
        """Weights that change, over all devices."""
        if self.is_full:
            return self.architecture.num_parameters
        return num_adapter_parameters(self.architecture, self.recipe)

    @cached_property
    def num_factors(self) -> int:
        """Numbers that Adafactor keeps: a row and a column per matrix, a number per weight of a norm."""
        if not self.is_full:
            rank = self.recipe.lora.rank if self.recipe.lora else 0
            targets = self.recipe.lora.targets if self.recipe.lora else ()
            shapes = [self.architecture.matrix_shapes[target] for target in targets]
            return self.architecture.num_layers * sum(sum(shape) + 2 * rank for shape in shapes)
        shapes = list(self.architecture.matrix_shapes.values())
        norms = self.architecture.num_parameters - self.num_embedding - self.num_layer_matrices
        embedding = self.num_embedding // self.architecture.hidden_size + self.architecture.hidden_size
        return self.architecture.num_layers * sum(map(sum, shapes)) + embedding + norms


def step_shape(
    recipe: Recipe, architecture: Architecture, target: Target, engine: EngineName = "jax"
) -> StepShape:
    """The step of a recipe on a target, as an engine runs it.

    Raises:
        InvalidInputError: The mesh or the rows do not go into the target's devices, the attention kernel
            that the recipe names cannot serve there, the matrices cannot be quantised in such blocks, or the
            engine cannot do it.
    """
    if recipe.quantization is not None:
        check_blocks(recipe.quantization, architecture)
    mesh = mesh_shape(recipe.sharding, target.num_devices)
    if engine == "torch":
        _require_torch(recipe, mesh, target)
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


def _require_torch(recipe: Recipe, mesh: MeshShape, target: Target) -> None:
    if target.platform == "tpu":
        raise InvalidInputError(
            f"The torch engine does not run on {target.name}.",
            next_step="Plan with --engine jax for a TPU, or choose a GPU with --on.",
        )
    require_torch_mesh(recipe, mesh)
    require_torch_format(recipe.training.precision.compute, target.device_kind, target.compute_capability)
