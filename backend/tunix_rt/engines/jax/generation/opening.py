"""From the name of a model to one that writes: device, files, tokenizer, weights."""

from dataclasses import replace
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.generation import GeneratorRequest
from tunix_rt.engines.generation_opening import encoder_of, precision_of
from tunix_rt.engines.generation_writing import BatchGenerator
from tunix_rt.engines.jax.adapter_files import load_adapters
from tunix_rt.engines.jax.devices import choose_device
from tunix_rt.engines.jax.generation.batch import LoadedModel
from tunix_rt.engines.jax.generation.forward import Decoder, Weights
from tunix_rt.engines.jax.layer_lists import unstacked
from tunix_rt.engines.jax.lora import adapter_scale
from tunix_rt.engines.jax.model import output_embedding
from tunix_rt.engines.jax.params import Params, abstract_params, init_params
from tunix_rt.engines.jax.random_keys import random_keys
from tunix_rt.engines.jax.sharding import make_mesh, replicated
from tunix_rt.engines.jax.weights import load_params
from tunix_rt.engines.models import ModelSource, resolve_model
from tunix_rt.engines.stop_tokens import stop_token_ids
from tunix_rt.recipes.types import FloatFormat, ShardingSection

JaxGenerator: TypeAlias = BatchGenerator[LoadedModel]


def open_generator(request: GeneratorRequest) -> JaxGenerator:
    """Load the model onto the devices.

    Raises:
        DeviceError: The device is not there.
        NotFoundError: There is no such model, or it has no tokenizer or weights.
        DataError: Files are damaged or do not belong together.
    """
    source = resolve_model(request.model)
    encoder = encoder_of(request, source)
    choice = choose_device(request.device)
    precision = precision_of(request, computes_bfloat16=choice.platform != "cpu")
    mesh = make_mesh(ShardingSection(data=len(choice.devices), fsdp=1), choice.devices)
    decoder = Decoder(
        source.architecture,
        jnp.dtype(precision),
        unrolls_layers=choice.platform != "tpu",
        has_turned_keys=choice.platform == "cpu",
    )
    decoder, weights = _with_adapter(request, decoder, load_weights(request, source, precision, mesh), mesh)
    model = LoadedModel(decoder, weights, mesh, stop_token_ids(source, encoder), choice)
    return BatchGenerator(model, encoder, source, str(choice), precision)


def load_weights(
    request: GeneratorRequest, source: ModelSource, precision: FloatFormat, mesh: Mesh
) -> Params:
    """The weights without the adapter, a copy on every device."""
    architecture = source.architecture
    if request.model.weights == "random" or source.directory is None:
        key = random_keys(request.seed).weights
        make = jax.jit(
            lambda: init_params(architecture, key, jnp.dtype(precision)), out_shardings=replicated(mesh)
        )
        params: Params = make()
        return params
    shardings = jax.tree.map(lambda _: replicated(mesh), abstract_params(architecture, precision))
    return load_params(source.directory, architecture, precision, shardings)


def _with_adapter(
    request: GeneratorRequest, decoder: Decoder, params: Params, mesh: Mesh
) -> tuple[Decoder, Weights]:
    """The weights in the form that the decoder walks through, and the adapter, if any, beside them."""
    adapters: Params = {}
    if request.adapter is not None:
        loaded, lora = load_adapters(request.adapter, decoder.architecture)
        adapters = jax.device_put(loaded["layers"], replicated(mesh))
        decoder = replace(decoder, adapter_scale=adapter_scale(lora))
    if decoder.unrolls_layers:
        params = _in_lists(params, decoder.architecture.num_layers, mesh)
    is_cpu = mesh.devices.flat[0].platform == "cpu"
    return decoder, Weights(params, adapters, turned_head(params, decoder.architecture) if is_cpu else None)


def turned_head(params: Params, architecture: Architecture) -> Array:
    """A copy of the output embedding as [D, V]."""
    return jnp.array(output_embedding(params, architecture).T)


def _in_lists(params: Params, num_layers: int, mesh: Mesh) -> Params:
    place = replicated(mesh)
    layer = jax.tree.map(lambda _: place, params["layers"])
    shardings = jax.tree.map(lambda _: place, params) | {"layers": [layer] * num_layers}
    return unstacked(params, shardings)
