"""Every section and key of a recipe; Override.

Importing it needs no accelerator library. Both engines read the same recipe; a key that a mode cannot honour
is refused here, before anything is loaded.
"""

from typing import Annotated, Any, Literal

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
"""The split that is validated on when the recipe names none."""

Positive = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class _Section(BaseModel):
    # Strict: `true` is no number and "8" is no count, whoever wrote it.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


class ModelSection(_Section):
    """Which weights are trained."""

    name: Annotated[str, Field(min_length=1)]
    """A built-in model (`tiny-gemma`), a local directory in the Hugging Face layout, or a hub id."""
    revision: str | None = None
    """Branch, tag or commit of a hub id. None: its default branch."""
    weights: Literal["pretrained", "random"] = "pretrained"
    """`random` starts from seeded random weights: built-in models, smoke runs, benchmarks."""
    tokenizer: str | None = None
    """Built-in name, directory or hub id. None: the model's own."""


class DataSection(_Section):
    """Which rows are trained on, and how they fill the batches."""

    dataset: Annotated[str, Field(pattern=KEY_PATTERN)] | None = None
    """Key of a dataset, e.g. `dev-reasoning-v2`. None: must be given with --dataset."""
    split: Annotated[str, Field(pattern=SPLIT_PATTERN)] = "train"
    """The split that is trained on."""
    row_length: Annotated[int, Field(ge=2, le=1_048_576)] = 512
    """Tokens per row. No example is ever cut to fit."""
    packing: bool = True
    """Fill rows with several examples, each blind to the others. False: one example a row, padded."""
    overlong: Literal["error", "drop"] = "error"
    """What happens to an example longer than a row: refuse the run, or leave it out and count it."""
    markup: MarkupStyle = DEFAULT_MARKUP
    """What stands around reasoning and answer."""
    chat_template: str | None = None
    """Name of a built-in chat template. None: the tokenizer's own, else the default built-in one."""


class AdamW(_Section):
    """Adam with decoupled weight decay; two moments per weight."""

    name: Literal["adamw"] = "adamw"
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """Decay of the mean of the gradients."""
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    """Decay of the mean of their squares."""
    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    """Keeps the division from exploding."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Decoupled decay of matrices; norms and biases are never decayed."""


class Adafactor(_Section):
    """Adafactor: one row and one column of second moments per matrix, no first moment."""

    name: Literal["adafactor"] = "adafactor"
    decay_rate: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Exponent with which the memory of the second moments grows."""
    clipping_threshold: Annotated[float, Field(gt=0)] = 1.0
    """Largest root mean square of an update, before the learning rate."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Decoupled decay of matrices; norms and biases are never decayed."""


Optimizer = Annotated[AdamW | Adafactor, Field(discriminator="name")]


class PrecisionSection(_Section):
    """Which number format each thing has."""

    compute: FloatFormat = "bfloat16"
    """Activations and matrix products. Norms, softmax and loss are always float32."""
    weights: FloatFormat = "float32"
    """Stored weights. float32 in full mode means float32 master weights, cast for compute. In LoRA modes:
    the frozen weights; adapters are always float32."""
    optimizer_state: FloatFormat = "float32"
    """Moments of the optimizer. Adafactor's factors are always float32."""
    stochastic_rounding: bool = False
    """Round bfloat16 weights at random so that small updates move them on average (full mode only)."""


class TrainingSection(_Section):
    """How the weights change."""

    mode: TrainingMode = "full"
    """All weights, low-rank adapters, or adapters on quantised weights."""
    num_epochs: Annotated[float, Field(gt=0)] | None = None
    """Passes over the rows. Give this or num_steps."""
    num_steps: Positive | None = None
    """Optimizer steps. Give this or num_epochs."""
    batch_size: Positive = 8
    """Rows per optimizer step, over all devices."""
    gradient_accumulation_steps: Positive = 1
    """Parts that a batch is computed in, one after the other. The result is that of the whole batch."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-5
    """Peak learning rate."""
    schedule: Schedule = "cosine"
    """How the learning rate goes down after the warm-up."""
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    """Steps in which the learning rate rises linearly to its peak."""
    final_learning_rate_fraction: Fraction = 0.0
    """Share of the peak that the schedule goes down to, reached just after the last step."""
    optimizer: Optimizer = AdamW()
    """`adamw` or `adafactor`, by name or with its settings."""
    max_grad_norm: Annotated[float, Field(gt=0)] | None = 1.0
    """Gradients are scaled down to this norm. None: never."""
    precision: PrecisionSection = PrecisionSection()
    remat: Remat = "block"
    """What the backward pass computes again: nothing, all but matrix products, or whole layers."""
    loss_chunk_tokens: Positive | None = 1024
    """Tokens whose logits exist at one time. None: all of them, [tokens, vocabulary] in float32."""
    attention: AttentionKernel = "auto"
    """Attention kernel. `auto` takes the fused one of the device where it can serve the model."""
    donate_buffers: bool = True
    """Reuse the memory of the old weights and optimizer state for the new ones."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Decides the order of rows, random weights, adapters, dropout and stochastic rounding."""

    @model_validator(mode="before")
    @classmethod
    def _optimizer_by_name(cls, values: Any) -> Any:
        """`optimizer: adafactor` is short for `optimizer: {name: adafactor}`; without a name it is AdamW."""
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
    """Width of the adapters."""
    alpha: Annotated[float, Field(gt=0)] = 32.0
    """Strength: the adapter's output is multiplied by alpha / rank."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the adapter's inputs that are zeroed while training."""
    # Not strict: YAML has lists, no tuples.
    targets: Annotated[tuple[LoraTarget, ...], Field(min_length=1, strict=False)] = (
        "q",
        "k",
        "v",
        "o",
        "gate",
        "up",
        "down",
    )
    """Matrices that get an adapter."""

    @model_validator(mode="after")
    def _targets_once(self) -> "LoraSection":
        if len(set(self.targets)) < len(self.targets):
            raise ValueError("targets names a matrix twice")
        return self


class QuantizationSection(_Section):
    """How qlora stores the frozen matrices of the layers; embeddings and norms stay as they are."""

    format: QuantizationFormat = "nf4"
    """4 bits with normal-float levels, or 8-bit integers."""
    block_size: Annotated[int, Field(ge=8)] = 64
    """Weights that share one scale."""


class ShardingSection(_Section):
    """The mesh of devices. Exactly one axis may be `auto`: it takes the devices that the others leave."""

    data: AxisSize = 1
    """Copies of the model, each with its part of the batch."""
    fsdp: AxisSize = "auto"
    """Devices that share weights, gradients and optimizer state, each with its part of the batch."""
    tensor: AxisSize = 1
    """Devices that share every matrix product."""

    @model_validator(mode="after")
    def _one_auto(self) -> "ShardingSection":
        if [self.data, self.fsdp, self.tensor].count("auto") > 1:
            raise ValueError("only one of data, fsdp and tensor may be auto")
        return self


class EvalSection(_Section):
    """Validation loss while training."""

    every_steps: Positive | None = None
    """Steps between two validations. None: never."""
    split: Annotated[str, Field(pattern=SPLIT_PATTERN)] = VALIDATION
    """The split that is validated on."""
    max_batches: Positive | None = None
    """Batches per validation. None: the whole split."""
    early_stop_patience: Positive | None = None
    """Stop after this many validations without a better loss. None: never."""

    @model_validator(mode="after")
    def _validation_runs(self) -> "EvalSection":
        if self.early_stop_patience is not None and self.every_steps is None:
            raise ValueError("early_stop_patience needs every_steps")
        if self.max_batches is not None and self.every_steps is None:
            raise ValueError("max_batches needs every_steps")
        if self.split != VALIDATION and self.every_steps is None:
            raise ValueError("split needs every_steps")
        return self


class OutputSection(_Section):
    """What the run leaves behind."""

    log_every_steps: Positive = 1
    """Steps between two lines of metrics."""
    save_every_steps: Positive | None = None
    """Steps between two checkpoints. None: one, at the end."""
    keep_checkpoints: Positive = 2
    """Newest checkpoints that are kept. The one with the best validation loss is kept as well."""
    model: Literal["final", "best"] = "final"
    """Whose weights are exported: the last step's, or those with the best validation loss."""
    merge_adapters: bool = False
    """Export LoRA as a whole model instead of an adapter."""


class Recipe(_Section):
    """What a run does. Precedence: defaults, then the file, then --set and flags."""

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
        """A mode that uses a section gets its defaults when the file does not mention it."""
        if not isinstance(values, dict) or not isinstance(values.get("training"), dict):
            return values
        mode = values["training"].get("mode", "full")
        wanted = {"lora": ("lora",), "qlora": ("lora", "quantization")}.get(str(mode), ())
        return {**values, **{name: {} for name in wanted if values.get(name) is None}}

    @model_validator(mode="after")
    def _honoured_by_the_mode(self) -> "Recipe":
        mode = self.training.mode
        if mode == "full" and self.lora is not None:
            raise ValueError(
                "training.mode full trains no adapters: remove lora, or set mode to lora or qlora"
            )
        if mode != "qlora" and self.quantization is not None:
            raise ValueError(
                f"training.mode {mode} quantises nothing: remove quantization, or set mode to qlora"
            )
        if self.output.merge_adapters and mode == "full":
            raise ValueError("output.merge_adapters needs training.mode lora or qlora")
        if self.output.model == "best" and self.eval.every_steps is None:
            raise ValueError("output.model best needs eval.every_steps")
        return self


class Override(BaseModel):
    """One change between what the recipe says and what runs; stored with the run.

    Example:
        training.num_steps: 500 -> 2, because of --smoke-steps
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    key: str
    """Dotted key of the recipe, e.g. `training.num_steps`."""
    recipe_value: JsonValue
    """What the recipe says, or its default."""
    used_value: JsonValue
    """What runs."""
    reason: str
    """Who asked for it: a flag, or an automatic choice in words."""
