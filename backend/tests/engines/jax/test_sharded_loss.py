"""The loss and quantized products on meshes of eight simulated devices equal those on one device."""

import json
import os
import subprocess
import sys

CHILD = """
import json, jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
from tunix_rt.recipes.types import QuantizationSection, ShardingSection
from tunix_rt.engines.jax.model.lora import project
from tunix_rt.engines.jax.training.loss import cross_entropy
from tunix_rt.engines.jax.model.quantization import quantize_matrix
from tunix_rt.engines.jax.sharding import make_mesh

MESHES = {
    "fsdp": ShardingSection(fsdp=8),
    "all axes": ShardingSection(data=2, fsdp=2, tensor=2),
}
noise = np.random.default_rng(0)
hidden, embedding = (noise.normal(size=shape).astype(np.float32) for shape in ((8, 12, 16), (64, 16)))
targets, mask = noise.integers(0, 64, (8, 12)), noise.integers(0, 2, (8, 12)).astype(np.uint8)
x, weight = (noise.normal(0, 0.1, shape).astype(np.float32) for shape in ((8, 64), (1, 64, 32)))
frozen = {"layers": {"gate": quantize_matrix(jnp.asarray(weight), QuantizationSection(block_size=8), "gate")}}

@jax.jit
def loss(hidden, embedding, targets, mask):
    def chunked(hidden, embedding):
        return cross_entropy(hidden, embedding, targets, mask, chunk_tokens=40, softcap=5.0)[0]
    return jax.value_and_grad(chunked, (0, 1))(hidden, embedding)

@jax.jit
def product(x, frozen):
    matrix = jax.tree.map(lambda leaf: leaf[0], frozen["layers"]["gate"])
    return jax.value_and_grad(lambda x: jnp.sin(project(x, matrix)).mean())(x)

def difference(actual, expected):
    pairs = zip(jax.tree.leaves(actual), jax.tree.leaves(expected))
    return max(float(jnp.abs(a - b).max() / jnp.abs(b).max()) for a, b in pairs)

def on_mesh(section):
    mesh = make_mesh(section, jax.devices())
    rows = NamedSharding(mesh, P(("data", "fsdp")))
    vocabulary = NamedSharding(mesh, P(("fsdp", "tensor")))
    put = jax.device_put
    sharded = loss(put(hidden, rows), put(embedding, vocabulary), put(targets, rows), put(mask, rows))
    parts = put(frozen, jax.tree.map(lambda _: NamedSharding(mesh, P(None, "fsdp", "tensor")), frozen))
    return {
        "loss": difference(sharded, loss(hidden, embedding, targets, mask)),
        "product": difference(product(put(x, rows), parts), product(x, frozen)),
        "is split": not parts["layers"]["gate"].codes.is_fully_replicated,
    }

print(json.dumps({name: on_mesh(section) for name, section in MESHES.items()}))
"""


def test_mesh_matches_one_device() -> None:
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    differences = json.loads(child.stdout)
    assert differences.keys() == {"fsdp", "all axes"}
    for mesh, actual in differences.items():
        assert actual["is split"], mesh
        assert actual["loss"] < 1e-5, (mesh, actual)
        assert actual["product"] < 1e-5, (mesh, actual)
