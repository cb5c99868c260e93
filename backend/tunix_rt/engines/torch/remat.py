"""What the backward pass computes again: nothing, all but matrix products, or whole layers.

A compiler that fuses what lies between the products computes that again by itself, and more where it is told
to keep less (engines/torch/compiling.py): compiled layers need help only to be forgotten whole.
"""

from functools import partial
from typing import Any

import torch
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

from tunix_rt.engines.torch.model import Decoder
from tunix_rt.recipes.types import Remat

# Products with a weight; those of attention, which multiply in batches, are computed again.
_PRODUCTS = frozenset({torch.ops.aten.mm.default, torch.ops.aten.addmm.default})


def apply_remat(decoder: Decoder, remat: Remat, *, has_dropout: bool, is_compiled: bool) -> None:
    """Make the layers forget their activations while the model is in training mode.

    Args:
        decoder: Whose layers.
        remat: As the recipe names it.
        has_dropout: Whether the layers draw random numbers, which the second pass must draw again.
        is_compiled: Whether the layers are compiled.
    """
    if remat == "none" or (remat == "dots" and is_compiled):
        return
    settings: dict[str, Any] = {"use_reentrant": False, "preserve_rng_state": has_dropout}
    if remat == "dots":
        settings["context_fn"] = partial(create_selective_checkpoint_contexts, _policy)
    decoder.module.gradient_checkpointing_enable(settings)


def _policy(_context: Any, operation: Any, *_arguments: Any, **_keywords: Any) -> CheckpointPolicy:
    is_kept = operation in _PRODUCTS
    return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE
