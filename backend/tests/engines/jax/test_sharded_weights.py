"""Loading and saving sharded weights, over eight simulated devices and over two processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.children import free_port

from tunix_rt.engines.jax.model.params import abstract_params
from tunix_rt.engines.jax.weights import save_params
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.types import ModelSection

MODEL = "tiny-llama"
CHILD = """
import json, sys
from pathlib import Path
import jax
from tunix_rt.recipes.types import ModelSection, ShardingSection
from tunix_rt.engines.jax.model.params import abstract_params
from tunix_rt.engines.jax.sharding import make_mesh, state_shardings
from tunix_rt.engines.jax.weights import load_params
from tunix_rt.engines.jax.weights import save_params
from tunix_rt.engines.weights.sources import resolve_model

stored, output, address, num_processes, process_id, sizes = sys.argv[1:]
if int(num_processes) > 1:
    jax.distributed.initialize(address, int(num_processes), int(process_id))
architecture = resolve_model(ModelSection(name="MODEL", weights="random")).architecture
mesh = make_mesh(ShardingSection(**json.loads(sizes)), jax.devices())
shardings = state_shardings(abstract_params(architecture, "float32"), mesh, architecture)
params = load_params(Path(stored), architecture, "float32", shardings)
save_params(Path(output), params, architecture)
gate = params["layers"]["gate"]
print(json.dumps({"parts": len({str(shard.index) for shard in gate.global_shards})}))
""".replace("MODEL", MODEL)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("stored")
    architecture = resolve_model(ModelSection(name=MODEL, weights="random")).architecture
    rng = np.random.default_rng(0)
    params = jax.tree.map(
        lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape, np.float32)),
        abstract_params(architecture, "float32"),
    )
    save_params(directory, params, architecture)
    return directory


def start_child(
    stored: Path,
    output: Path,
    sizes: dict[str, int],
    *,
    num_devices: int,
    address: str = "",
    process: int = 0,
) -> subprocess.Popen[str]:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={num_devices}"
    num_processes = 2 if address else 1
    arguments = map(str, (stored, output, address, num_processes, process, json.dumps(sizes)))
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_report(process: subprocess.Popen[str]) -> dict[str, int]:
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    # The collectives library also prints to standard output; the report is the last line.
    report: dict[str, int] = json.loads(stdout.splitlines()[-1])
    return report


def assert_same_file(output: Path, stored: Path) -> None:
    [path] = output.iterdir()
    assert path.read_bytes() == (stored / path.name).read_bytes()


def test_eight_device_round_trip(stored: Path, tmp_path: Path) -> None:
    sizes = {"data": 2, "fsdp": 2, "tensor": 2}
    assert read_report(start_child(stored, tmp_path, sizes, num_devices=8)) == {"parts": 4}
    assert_same_file(tmp_path, stored)


def test_first_process_writes_model(stored: Path, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    outputs = [tmp_path / "first", tmp_path / "second"]
    for output in outputs:
        output.mkdir()
    processes = [
        start_child(stored, output, {"fsdp": 2}, num_devices=1, address=address, process=number)
        for number, output in enumerate(outputs)
    ]
    assert [read_report(process) for process in processes] == [{"parts": 2}, {"parts": 2}]
    assert_same_file(outputs[0], stored)
    assert not any(outputs[1].iterdir())
