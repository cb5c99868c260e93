"""Tiny models for generation with given weights, and prompts of random token ids."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import jax
import numpy as np

from tunix_rt.engines.generation.base import Completion, Prompt
from tunix_rt.engines.generation.generator import decode_in_parallel
from tunix_rt.engines.generation.scheduler import DecodeRequest, DecodingModel, grouped
from tunix_rt.engines.jax.devices import DeviceChoice
from tunix_rt.engines.jax.generation.decoder import Decoder, Weights
from tunix_rt.engines.jax.generation.generator import LoadedModel, transposed_head
from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import ShardingSection


def loaded(
    params: Params, architecture: Architecture, *, stop_ids: Sequence[int] = (), unrolls_layers: bool = True
) -> LoadedModel:
    """Load a float32 model on the first device; `unrolls_layers` enables all CPU optimizations."""
    choice = DeviceChoice("cpu", tuple(jax.devices()[:1]), reason="a test", memory_bytes=None)
    mesh = make_mesh(ShardingSection(fsdp=1), choice.devices)
    decoder = Decoder(
        architecture, np.dtype("float32"), unrolls_layers=unrolls_layers, has_transposed_keys=unrolls_layers
    )
    if unrolls_layers:
        layers = [
            jax.tree.map(itemgetter(index), params["layers"]) for index in range(architecture.num_layers)
        ]
        params = params | {"layers": layers}
    weights = Weights(params, {}, transposed_head(params, architecture) if unrolls_layers else None)
    return LoadedModel(decoder, weights, mesh, frozenset(stop_ids), choice)


def random_prompts(lengths: Sequence[int], vocab_size: int, seed: int = 0) -> list[Prompt]:
    rng = np.random.default_rng(seed)
    return [
        Prompt(f"prompt-{number}", rng.integers(0, vocab_size, length).tolist())
        for number, length in enumerate(lengths)
    ]


def write(
    model: DecodingModel,
    prompts: Sequence[Prompt],
    *,
    num_rows: int = 4,
    max_tokens: int = 10**6,
    **decoding: Any,
) -> dict[tuple[str, int], Completion]:
    """Generate a completion for every prompt; returns them by key and sample."""
    settings = Decoding(**decoding)
    requests = [
        DecodeRequest(prompt, min(len(prompt.token_ids) + settings.max_new_tokens, max_tokens), settings.seed)
        for prompt in prompts
    ]
    results = [
        completion
        for group in grouped(requests)
        for finished in decode_in_parallel(
            model.batches(settings, num_rows=num_rows, num_slots=group[0].num_slots), group
        )
        for completion in finished
    ]
    assert len(results) == len(prompts)
    return {(completion.prompt.key, completion.prompt.sample): completion for completion in results}
