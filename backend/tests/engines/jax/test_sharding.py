"""Meshes and the shards of every tensor. The mesh is abstract, so no devices are needed."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P
from support.programs import tiny_architecture, tiny_recipe

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.jax.model.lora import abstract_adapters
from tunix_rt.engines.jax.model.params import abstract_params, abstract_unstack
from tunix_rt.engines.jax.model.quantization import abstract_quantized
from tunix_rt.engines.jax.sharding import AXES, make_mesh, state_shardings
from tunix_rt.engines.jax.training.optimizer import make_optimizer
from tunix_rt.engines.planning.limits import MeshShape, rows_per_device
from tunix_rt.recipes.types import LoraSection, QuantizationSection, ShardingSection


def mesh_of(data: int, fsdp: int, tensor: int) -> AbstractMesh:
    return AbstractMesh((data, fsdp, tensor), AXES)


def specs_of(tree: Any, mesh: AbstractMesh, **architecture: Any) -> Any:
    shardings = state_shardings(tree, mesh, tiny_architecture(**architecture))
    return jax.tree.map(lambda sharding: sharding.spec, shardings)


def weights_of(**architecture: Any) -> Any:
    return abstract_params(tiny_architecture(**architecture), jnp.float32)


def test_fsdp_shards_hidden_size_never_layers() -> None:
    specs = specs_of(weights_of(num_hidden_layers=8), mesh_of(1, 8, 1))["layers"]
    assert specs["gate"] == specs["q"] == P(None, "fsdp", None)
    assert specs["down"] == specs["o"] == P(None, None, "fsdp")


def test_fsdp_falls_back_to_other_axis() -> None:
    specs = specs_of(weights_of(hidden_size=36), mesh_of(1, 8, 1), hidden_size=36)["layers"]
    assert specs["gate"] == P(None, None, "fsdp")


def test_tensor_axis_shards_matrices() -> None:
    """Along the outputs of input projections, and along the inputs of output projections."""
    specs = specs_of(weights_of(), mesh_of(2, 2, 2))["layers"]
    assert specs["q"] == specs["k"] == specs["up"] == P(None, "fsdp", "tensor")
    assert specs["o"] == specs["down"] == P(None, "tensor", "fsdp")


def test_indivisible_key_heads_are_replicated() -> None:
    specs = specs_of(weights_of(), mesh_of(1, 2, 4))["layers"]
    assert specs["q"] == P(None, "fsdp", "tensor")
    assert specs["k"] == specs["v"] == P(None, "fsdp", None)


def test_embedding_is_sharded_by_vocabulary() -> None:
    assert specs_of(weights_of(), mesh_of(1, 4, 2))["embedding"] == P(("fsdp", "tensor"))
    assert specs_of(weights_of(vocab_size=98), mesh_of(1, 4, 2))["embedding"] == P(("tensor",))
    assert specs_of(weights_of(vocab_size=97), mesh_of(1, 4, 2))["embedding"] == P()


def test_norms_are_replicated() -> None:
    specs = specs_of(weights_of(), mesh_of(1, 8, 1))
    assert specs["layers"]["mlp_norm"] == specs["final_norm"] == P()


def test_moments_are_sharded_like_weights() -> None:
    """The factors of Adafactor are replicated."""
    weights, mesh = weights_of(), mesh_of(1, 8, 1)
    adamw, adafactor = (
        specs_of(jax.eval_shape(make_optimizer(tiny_recipe(optimizer=name).training, 5).init, weights), mesh)[
            0
        ]
        for name in ("adamw", "adafactor")
    )
    assert adamw.mu == adamw.nu == specs_of(weights, mesh)
    assert adafactor.second_moments["layers"]["up"].rows == P()


def test_adapters_shard_along_long_side() -> None:
    adapters = abstract_adapters(tiny_architecture(), LoraSection(rank=2))
    specs = specs_of(adapters, mesh_of(1, 8, 1))["layers"]
    assert specs["up"]["a"] == P(None, "fsdp", None)
    assert specs["up"]["b"] == P(None, None, "fsdp")


def test_tensor_shards_adapter_like_its_matrix() -> None:
    adapters = abstract_adapters(tiny_architecture(), LoraSection(rank=2))
    specs = specs_of(adapters, mesh_of(1, 2, 2))["layers"]
    assert (specs["up"]["a"], specs["up"]["b"]) == (P(None, "fsdp", None), P(None, "fsdp", "tensor"))
    assert (specs["down"]["a"], specs["down"]["b"]) == (P(None, "tensor", "fsdp"), P(None, None, "fsdp"))


def test_quantized_shards_align_with_blocks() -> None:
    section = QuantizationSection(block_size=8)
    gate = specs_of(abstract_quantized(weights_of(), section), mesh_of(1, 4, 1))["layers"]["gate"]
    assert gate.codes == gate.scales == P(None, "fsdp", None)
    indivisible = specs_of(abstract_quantized(weights_of(), section), mesh_of(1, 8, 1))["layers"]["gate"]
    assert indivisible.codes == indivisible.scales == P(None, None, "fsdp")


def test_unstacked_layers_shard_like_stacked() -> None:
    weights = abstract_unstack(weights_of(), num_layers=2)
    layer = specs_of(weights, mesh_of(1, 4, 2))["layers"][1]
    assert (layer["gate"], layer["down"], layer["mlp_norm"]) == (
        P("fsdp", "tensor"),
        P("tensor", "fsdp"),
        P(),
    )


def test_indivisible_batch_is_rejected() -> None:
    training = tiny_recipe(batch_size=8, gradient_accumulation_steps=2).training
    with pytest.raises(InvalidInputError, match=r"4 rows .*batch_size 8 in 2 part.*8 devices"):
        rows_per_device(MeshShape(1, 8, 1), tiny_architecture(), training)


def test_indivisible_heads_are_rejected() -> None:
    with pytest.raises(InvalidInputError, match="4 attention heads cannot be split over 8 devices"):
        rows_per_device(MeshShape(1, 1, 8), tiny_architecture(), tiny_recipe().training)


def test_oversized_mesh_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="fsdp 2"):
        make_mesh(ShardingSection(fsdp=2), jax.devices()[:1])


def test_default_mesh_of_one_device() -> None:
    mesh = make_mesh(ShardingSection(), jax.devices()[:1])
    assert dict(mesh.shape) == {"data": 1, "fsdp": 1, "tensor": 1}
