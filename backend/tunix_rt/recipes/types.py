"""The sections and keys of a recipe.

Importing this module needs no accelerator library. Both engines read the same recipe; a key that a mode does
not support is rejected here, before anything is loaded.
"""

import math
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from tunix_rt.datasets.types import KEY_PATTERN, SPLIT_PATTERN
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

TrainingMode = Literal["full", "lora", "qlora"]
FloatFormat = Literal["float32", "bfloat16"]
Remat = Literal["none", "dots", "block"]
AttentionKernel = Literal["auto", "dense", "cudnn", "splash"]
Schedule = Literal["constant", "linear", "cosine"]
LoraTarget = Literal["q", "k", "v", "o", "gate", "up", "down"]
QuantizationFormat = Literal["nf4", "int8"]
AxisSize = Annotated[int, Field(ge=1)] | Literal["auto"]

VALIDATION = "validation"
"""The default validation split."""

MAX_COUNT = 2**31 - 1
Positive = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class _Section(BaseModel):
    # Strict: `true` is not a number and "8" is not a count.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


class ModelSection(_Section):
    """The model to train."""

    name: Annotated[str, Field(min_length=1)]
    """A built-in model (`tiny-gemma`), a local directory in the Hugging Face layout, or a hub id."""
    revision: str | None = None
    """Branch, tag or commit of a hub id. None: the default branch."""
    weights: Literal["pretrained", "random"] = "pretrained"
    """`random` initializes the weights from the seed, for built-in models, smoke runs and benchmarks."""
    tokenizer: str | None = None
    """Built-in name, local directory or hub id. None: the tokenizer of the model."""


class DataSection(_Section):
    """The training data, and how examples are batched."""

    dataset: Annotated[str, Field(pattern=KEY_PATTERN)] | None = None
    """Key of a dataset, e.g. `dev-reasoning-v2`. None: --dataset is required."""
    split: Annotated[str, Field(pattern=SPLIT_PATTERN)] = "train"
    """The training split."""
    row_length: Annotated[int, Field(ge=2, le=1_048_576)] = 512
    """Sequence length in tokens. Examples are never truncated."""
    packing: bool = True
    """Pack examples into shared rows without attention between them. False: one padded example per row."""
    overlong: Literal["error", "drop"] = "error"
    """Examples longer than a row: refuse the run, or drop and count them."""
    markup: MarkupStyle = DEFAULT_MARKUP
    """Markup that delimits the reasoning and the answer."""
    chat_template: str | None = None
    """Name of a built-in chat template. None: the template of the tokenizer, or else the built-in default."""


class AdamW(_Section):
    """Adam with decoupled weight decay; keeps two moments per weight."""

    name: Literal["adamw"] = "adamw"
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """Exponential decay rate of the first moment."""
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    """Exponential decay rate of the second moment."""
    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    """Added to the denominator for numerical stability."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Decoupled weight decay, applied to matrices only, not to norms and biases."""


class Adafactor(_Section):
    """Adafactor: factored second moments (one row and one column per matrix) and no first moment."""

    name: Literal["adafactor"] = "adafactor"
    decay_rate: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Exponent of the second-moment decay schedule."""
    clipping_threshold: Annotated[float, Field(gt=0)] = 1.0
    """Maximum root mean square of an update, before the learning rate is applied."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Decoupled weight decay, applied to matrices only, not to norms and biases."""


Optimizer = Annotated[AdamW | Adafactor, Field(discriminator="name")]


class PrecisionSection(_Section):
    """Number formats."""

    compute: FloatFormat = "bfloat16"
    """Format of activations and matrix products. Norms, softmax and loss are always float32."""
    weights: FloatFormat = "float32"
    """Format of the stored weights. In full mode, float32 means float32 master weights that are cast for
    compute. In LoRA modes it applies to the frozen weights; adapters are always float32."""
    optimizer_state: FloatFormat = "float32"
    """Format of the optimizer moments. The factors of Adafactor are always float32."""
    stochastic_rounding: bool = False
    """Round bfloat16 weights stochastically, so that small updates are not lost (full mode only)."""


class TrainingSection(_Section):
    """The training mode, duration, batch size, optimizer and schedule."""

    mode: TrainingMode = "full"
    """Train all weights, low-rank adapters, or low-rank adapters on quantized weights."""
    num_epochs: Annotated[float, Field(gt=0)] | None = None
    """Passes over the training split. Set this or num_steps."""
    num_steps: Positive | None = None
    """Optimizer steps. Set this or num_epochs."""
    batch_size: Positive = 8
    """Rows per optimizer step, across all devices."""
    gradient_accumulation_steps: Positive = 1
    """Micro-batches per optimizer step. The result equals that of the whole batch."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-5
    """Peak learning rate."""
    schedule: Schedule = "cosine"
    """Learning-rate schedule after the warmup."""
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    """Steps of linear warmup to the peak learning rate."""
    final_learning_rate_fraction: Fraction = 0.0
    """Final learning rate as a fraction of the peak, reached just after the last step."""
    optimizer: Optimizer = AdamW()
    """`adamw` or `adafactor`, as a name or as a section with settings."""
    max_grad_norm: Annotated[float, Field(gt=0)] | None = 1.0
    """Gradients are clipped to this global norm. None: no clipping."""
    precision: PrecisionSection = PrecisionSection()
    remat: Remat = "block"
    """What the backward pass recomputes: nothing, everything except matrix products, or whole layers."""
    loss_chunk_tokens: Positive | None = 1024
    """Tokens per chunk of the loss. None: all logits at once, [tokens, vocabulary] in float32."""
    attention: AttentionKernel = "auto"
    """Attention kernel. `auto` selects the fused kernel of the device if it supports the model."""
    donate_buffers: bool = True
    """Donate the buffers of the old weights and optimizer state to the new ones."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of the row order, random weights, adapters, dropout and stochastic rounding."""

    def learning_rate_at(self, step: int, num_steps: int) -> float:
        """The learning rate of an update, counted from 0, in a run of `num_steps`; none has a rate of zero.

        Example:
            peak 1.0, 5 updates, 2 of them warm-up, linear down to 0 -> 1/3, 2/3, 1, 2/3, 1/3
        """
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / (self.warmup_steps + 1)
        progress = min(1.0, (step - self.warmup_steps) / max(1, num_steps - self.warmup_steps))
        decays: dict[Schedule, float] = {
            "constant": 1.0,
            "linear": 1 - progress,
            "cosine": (1 + math.cos(math.pi * progress)) / 2,
        }
        final = self.final_learning_rate_fraction
        return self.learning_rate * (final + (1 - final) * decays[self.schedule])

    @model_validator(mode="before")
    @classmethod
    def _optimizer_by_name(cls, values: Any) -> Any:
        """`optimizer: adafactor` is short for `optimizer: {name: adafactor}`; the default name is AdamW."""
        optimizer = values.get("optimizer") if isinstance(values, dict) else None
        if isinstance(optimizer, str):
            return values | {"optimizer": {"name": optimizer}}
        if isinstance(optimizer, dict):
            return values | {"optimizer": {"name": "adamw", **optimizer}}
        return values

    @model_validator(mode="after")
    def _consistent(self) -> "TrainingSection":
        if (self.num_epochs is None) == (self.num_steps is None):
            raise ValueError("give either num_epochs or num_steps")
        if self.batch_size % self.gradient_accumulation_steps:
            raise ValueError(
                f"batch_size {self.batch_size} cannot be split into "
                f"{self.gradient_accumulation_steps} gradient_accumulation_steps of whole rows"
            )
        if self.schedule == "constant" and self.final_learning_rate_fraction:
            raise ValueError("a constant schedule has no final_learning_rate_fraction; leave it at 0")
        if self.num_steps is not None and self.warmup_steps > self.num_steps:
            raise ValueError(f"warmup_steps {self.warmup_steps} is more than num_steps {self.num_steps}")
        if self.precision.stochastic_rounding and (
            self.mode != "full" or self.precision.weights != "bfloat16"
        ):
            raise ValueError("stochastic_rounding needs mode: full and precision.weights: bfloat16")
        if self.precision.optimizer_state == "bfloat16" and self.optimizer.name != "adamw":
            raise ValueError(
                f"precision.optimizer_state bfloat16 needs adamw; {self.optimizer.name} keeps float32"
            )
        return self


class LoraSection(_Section):
    """Low-rank adapters: W + (alpha / rank) * A B."""

    rank: Positive = 16
    """Rank of the adapters."""
    alpha: Annotated[float, Field(gt=0)] = 32.0
    """Scaling: the output of an adapter is multiplied by alpha / rank."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Dropout rate on the adapter inputs during training."""
    # Not strict: YAML has lists but no tuples.
    targets: Annotated[tuple[LoraTarget, ...], Field(min_length=1, strict=False)] = get_args(LoraTarget)
    """Projection matrices that get an adapter."""

    @model_validator(mode="after")
    def _targets_once(self) -> "LoraSection":
        if len(set(self.targets)) < len(self.targets):
            raise ValueError("targets lists a matrix twice")
        return self


class QuantizationSection(_Section):
    """How qlora quantizes the frozen matrices of the layers. Embeddings and norms are not quantized."""

    format: QuantizationFormat = "nf4"
    """4-bit NormalFloat (nf4) or 8-bit integers (int8)."""
    block_size: Annotated[int, Field(ge=8)] = 64
    """Weights per quantization scale."""


class ShardingSection(_Section):
    """The device mesh. At most one axis may be `auto`: it takes the devices that the other axes leave."""

    data: AxisSize = 1
    """Data-parallel replicas of the model; each processes a part of the batch."""
    fsdp: AxisSize = "auto"
    """Shards of weights, gradients and optimizer state; each device processes a part of the batch."""
    tensor: AxisSize = 1
    """Tensor-parallel devices over which every matrix product is split."""

    @model_validator(mode="after")
    def _one_auto(self) -> "ShardingSection":
        if [self.data, self.fsdp, self.tensor].count("auto") > 1:
            raise ValueError("only one of data, fsdp and tensor may be auto")
        return self


class EvalSection(_Section):
    """Validation loss during training."""

    every_steps: Positive | None = None
    """Steps between validations. None: never."""
    split: Annotated[str, Field(pattern=SPLIT_PATTERN)] = VALIDATION
    """The validation split."""
    max_batches: Positive | None = None
    """Maximum batches per validation. None: the whole split."""
    early_stop_patience: Positive | None = None
    """Stop after this many validations without improvement. None: never."""

    @model_validator(mode="after")
    def _validation_runs(self) -> "EvalSection":
        defaults = {"early_stop_patience": None, "max_batches": None, "split": VALIDATION}
        for name, default in defaults.items():
            if self.every_steps is None and getattr(self, name) != default:
                raise ValueError(f"{name} needs every_steps")
        return self


class OutputSection(_Section):
    """Logs, checkpoints and the exported model."""

    log_every_steps: Positive = 1
    """Steps between metrics lines."""
    save_every_steps: Positive | None = None
    """Steps between checkpoints. None: only at the end."""
    keep_checkpoints: Positive = 2
    """Latest checkpoints to keep, in addition to the one with the best validation loss."""
    model: Literal["final", "best"] = "final"
    """Weights to export: those of the last step, or those with the best validation loss."""
    merge_adapters: bool = False
    """Merge LoRA into the base weights and export a full model instead of an adapter."""


class Recipe(_Section):
    """The full configuration of a run. Precedence: defaults, then the file, then --set and flags."""

    model: ModelSection
    data: DataSection = DataSection()
    training: TrainingSection
    lora: LoraSection | None = None
    quantization: QuantizationSection | None = None
    sharding: ShardingSection = ShardingSection()
    eval: EvalSection = EvalSection()
    output: OutputSection = OutputSection()

    @model_validator(mode="before")
    @classmethod
    def _sections_of_the_mode(cls, values: Any) -> Any:
        """Add the default section of a mode when the file does not mention it."""
        if not isinstance(values, dict) or not isinstance(values.get("training"), dict):
            return values
        mode = values["training"].get("mode", "full")
        required = {"lora": ("lora",), "qlora": ("lora", "quantization")}.get(str(mode), ())
        return {**values, **{name: {} for name in required if values.get(name) is None}}

    @model_validator(mode="after")
    def _supported_by_the_mode(self) -> "Recipe":
        mode = self.training.mode
        if mode == "full" and self.lora is not None:
            raise ValueError(
                "training.mode full trains no adapters: remove lora, or set mode to lora or qlora"
            )
        if mode != "qlora" and self.quantization is not None:
            raise ValueError(
                f"training.mode {mode} quantizes nothing: remove quantization, or set mode to qlora"
            )
        if self.output.merge_adapters and mode == "full":
            raise ValueError("output.merge_adapters needs training.mode lora or qlora")
        if self.output.model == "best" and self.eval.every_steps is None:
            raise ValueError("output.model best needs eval.every_steps")
        return self


class Override(BaseModel):
    """A value of the recipe that was changed for a run; stored with the run.

    Example:
        training.num_steps: 500 -> 2, because of --smoke-steps
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    key: str
    """Dotted key of the recipe, e.g. `training.num_steps`."""
    recipe_value: JsonValue
    """The value in the recipe, or its default."""
    used_value: JsonValue
    """The value that the run uses."""
    reason: str
    """The flag that set it, or a description of the automatic choice."""
