"""Packed rows to hidden states; norms; rematerialisation.

See docs/torch-engine.md. The output head is not applied here: the loss multiplies by `head_weight` in chunks,
so that logits of shape [tokens, vocabulary] never exist.

torch.compile recomputes by itself what lies between matrix products, and more with a smaller memory budget
(see `compile_layers`). Compiled layers therefore need checkpointing only for remat `block`.
"""

import math
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor, nn
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.export import text_config
from tunix_rt.engines.planning.kernels import TAKING_BORDERS, TorchKernel
from tunix_rt.engines.torch.model.attention import SegmentBounds, packed_masks, register
from tunix_rt.engines.torch.weights import fill, stored_tensors
from tunix_rt.engines.weights.architecture import Architecture, architecture_from_config
from tunix_rt.engines.weights.sources import ModelSource
from tunix_rt.recipes.types import FloatFormat, Remat


class RmsNorm(nn.Module):
    """Root mean square norm over the last axis, computed in float32, returned in the dtype of x.

    It replaces the norms of transformers, which return the dtype of the weight (Llama, Qwen3): float32 norms
    would turn every activation into float32.
    """

    def __init__(self, weight: nn.Parameter, *, epsilon: float, adds_one: bool) -> None:
        super().__init__()
        self.weight = weight
        self.epsilon = epsilon
        self.adds_one = adds_one

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., D]."""
        factor = self.weight.float() + 1.0 if self.adds_one else self.weight.float()
        return torch.nn.functional.rms_norm(x.float(), factor.shape, factor, self.epsilon).to(x.dtype)


DTYPES: dict[FloatFormat, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class DecoderOptions:
    """How a model is stored and computed."""

    weights: FloatFormat = "float32"
    """Storage format of the weights."""
    compute: FloatFormat = "float32"
    """Format of hidden states and matrix products. Matrices must be in it when the model is called."""
    kernel: TorchKernel = "sdpa"
    seed: int = 0
    """Seed of random weights."""
    is_random: bool = False
    """Initialise the weights randomly instead of reading them."""
    is_frozen: bool = False
    """The model is frozen: matrices and embedding are stored in the compute format."""


@dataclass(frozen=True, eq=False)
class Decoder:
    """A transformers model with the metadata that the engine needs."""

    module: Any
    """`…ForCausalLM`; its parameters have the names of the published files."""
    source: ModelSource
    options: DecoderOptions
    embedding_scale: float | None = None
    """Factor of the embedding; None if there is none, or if the model applies it by itself."""
    notes: tuple[str, ...] = ()
    """Differences from the published model, to report to the user."""

    @property
    def architecture(self) -> Architecture:
        """The shape of the model."""
        return self.source.architecture

    @property
    def compute_dtype(self) -> torch.dtype:
        """Format of hidden states and matrix products."""
        return DTYPES[self.options.compute]

    @property
    def layers(self) -> Iterable[nn.Module]:
        """The blocks between embedding and final norm, from first to last."""
        layers: Iterable[nn.Module] = self.module.model.layers
        return layers

    def hidden(
        self, tokens: Tensor, segment_ids: Tensor, positions: Tensor, bounds: SegmentBounds | None = None
    ) -> Tensor:
        """The last hidden states, final norm applied: [B, T] -> [B, T, D] in the compute format.

        `bounds` are the segment bounds, for kernels that take them.
        """
        attention: dict[str, Any]
        if self.options.kernel in TAKING_BORDERS:
            attention = {"attention_mask": None, "bounds": bounds}
        else:
            attention = {"attention_mask": packed_masks(segment_ids, self.architecture.layer_windows)}
        outputs = self.module.model(
            inputs_embeds=self.embed(tokens), position_ids=positions, use_cache=False, **attention
        )
        hidden: Tensor = outputs.last_hidden_state
        return hidden

    def embed(self, tokens: Tensor) -> Tensor:
        """The first hidden states: [B, T] -> [B, T, D] in the compute format."""
        x: Tensor = self.module.model.embed_tokens(tokens).to(self.compute_dtype)
        if self.embedding_scale is None:
            return x
        # Gemma was trained with the factor rounded to the dtype of x.
        return x * torch.tensor(self.embedding_scale, dtype=x.dtype)

    def head_weight(self) -> Tensor:
        """The matrix [V, D] that turns hidden states into logits."""
        is_tied = self.architecture.is_embedding_tied
        weight: Tensor = (self.module.model.embed_tokens if is_tied else self.module.lm_head).weight
        return weight


def open_decoder(source: ModelSource, options: DecoderOptions, device: torch.device) -> Decoder:
    """Load a model with its weights on a device; every parameter is trainable.

    Raises:
        DataError: The weight files are damaged or do not match the model.
        InvalidInputError: transformers interprets the model's config.json differently from this engine.
    """
    config = _read_config(source)
    # Neither engine applies attention dropout.
    dropout, config.attention_dropout = getattr(config, "attention_dropout", 0.0), 0.0
    notes = (f"attention_dropout {dropout:g} of config.json is not applied",) if dropout else ()
    module, embedding_scale = _meta_model(config, source.architecture, options)
    if options.is_frozen:
        hold_for_compute(module, DTYPES[options.compute])
    is_tied = source.architecture.is_embedding_tied
    if is_tied:
        module.lm_head.register_parameter("weight", None)
    module.to_empty(device=device)
    if is_tied:
        module.lm_head.weight = module.model.embed_tokens.weight
    # Rotary frequencies are in no weight file; they follow from the config.
    rotary = module.model.rotary_emb
    module.model.rotary_emb = type(rotary)(rotary.config).to(device)
    fill(module, stored_tensors(source, options.seed, is_random=options.is_random), DTYPES[options.weights])
    return Decoder(module, source, options, embedding_scale, notes)


def hold_for_compute(module: nn.Module, dtype: torch.dtype) -> None:
    """Convert matrices and embedding to the compute format.

    A frozen weight can be rounded once: rounding it before every product would give the same values.
    """
    for parameter in module.parameters():
        if parameter.ndim > 1 and parameter.is_floating_point():
            parameter.data = parameter.data.to(dtype)


def _read_config(source: ModelSource) -> transformers.PretrainedConfig:
    # A copy: transformers completes the nested RoPE settings in place.
    config = deepcopy(text_config(source.config))
    try:
        read = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    except (StrictDataclassError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"transformers {transformers.__version__} rejects the config.json of {source.name}: {error}",
            next_step="Correct the field in config.json, or download the model again.",
        ) from error
    if architecture_from_config(read.to_dict()) != source.architecture:
        raise InvalidInputError(
            f"transformers {transformers.__version__} interprets the config.json of {source.name} "
            "differently from this engine.",
            next_step="Save the model again with save_pretrained, or train it with --engine jax.",
        )
    # An embedding with a padding id never trains that token.
    read.pad_token_id = None
    return read


def _meta_model(
    config: transformers.PretrainedConfig, architecture: Architecture, options: DecoderOptions
) -> tuple[Any, float | None]:
    """The modules on the meta device, without memory for their weights; the factor of the embedding.

    Norms and the embedding are replaced by our own; names and weights stay. The embedding becomes a plain
    table, which may differ from the compute format.
    """
    with torch.device("meta"):
        module: Any = transformers.AutoModelForCausalLM.from_config(
            config, dtype=DTYPES[options.weights], attn_implementation=register(options.kernel)
        )
        scaled = module.model.embed_tokens
        module.model.embed_tokens = nn.Embedding(scaled.num_embeddings, scaled.embedding_dim)
    module.model.embed_tokens.weight = scaled.weight
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if type(child).__name__.endswith("RMSNorm"):
                norm = RmsNorm(
                    child.get_parameter("weight"),
                    epsilon=architecture.rms_norm_eps,
                    adds_one=architecture.norms_add_one,
                )
                setattr(parent, name, norm)
    return module.eval(), math.sqrt(scaled.embedding_dim) if hasattr(scaled, "embed_scale") else None


# Products with weights are kept; the batched products of attention are recomputed.
_MATMULS = frozenset({torch.ops.aten.mm.default, torch.ops.aten.addmm.default})


def apply_remat(decoder: Decoder, remat: Remat, *, has_dropout: bool, is_compiled: bool) -> None:
    """Recompute activations of the layers in the backward pass, as `training.remat` of the recipe says.

    Layers with dropout use random numbers, which the recomputation must repeat.
    """
    if remat == "none" or (remat == "dots" and is_compiled):
        return
    settings: dict[str, Any] = {"use_reentrant": False, "preserve_rng_state": has_dropout}
    if remat == "dots":
        settings["context_fn"] = partial(create_selective_checkpoint_contexts, _remat_policy)
    decoder.module.gradient_checkpointing_enable(settings)


def _remat_policy(_context: Any, operation: Any, *_arguments: Any, **_keywords: Any) -> CheckpointPolicy:
    is_kept = operation in _MATMULS
    return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE
