"""The TPU attention kernel, sharded by rows and heads over eight simulated devices in a child process."""

import json
import os
import subprocess
import sys

CHILD = """
import json, jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from tunix_rt.recipes.types import ShardingSection
from tunix_rt.engines.jax.model.attention import causal_mask, dense_attention
from tunix_rt.engines.jax.sharding import activation_sharding, make_mesh
from tunix_rt.engines.jax.model.attention import splash_attention

mesh = make_mesh(ShardingSection(fsdp=4, tensor=2), jax.devices())
rows = NamedSharding(mesh, PartitionSpec(("data", "fsdp")))
segment_ids = jnp.asarray(np.repeat([[1] * 50 + [2] * 70 + [0] * 8], 4, axis=0))

def difference(num_kv_heads):
    keys = jax.random.split(jax.random.key(0), 3)
    q, k, v = (
        jax.random.normal(key, (4, 128, num, 128)) for key, num in zip(keys, (4, num_kv_heads, num_kv_heads))
    )
    def splash(q, k, v):
        return splash_attention(
            q, k, v, segment_ids, scale=0.1, window=None, softcap=None,
            sharding=activation_sharding(mesh), interpret=True,
        )
    def dense(q, k, v):
        return dense_attention(q, k, v, causal_mask(segment_ids, None), scale=0.1, softcap=None)
    def gradients(attention, *heads):
        return jax.jit(jax.grad(lambda *heads: jnp.cos(attention(*heads)).sum(), (0, 1, 2)))(*heads)
    sharded = gradients(splash, *(jax.device_put(heads, rows) for heads in (q, k, v)))
    return max(float(jnp.abs(a - b).max()) for a, b in zip(sharded, gradients(dense, q, k, v)))

print(json.dumps({"split keys": difference(2), "shared keys": difference(1)}))
"""


def test_sharded_splash_matches_dense_gradients() -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    differences = json.loads(child.stdout)
    assert differences.keys() == {"split keys", "shared keys"}
    assert max(differences.values()) < 1e-4, differences
