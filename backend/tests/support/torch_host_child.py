"""Run as one of two processes that train tiny models in several layouts. Writes reports and states."""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from support.programs import random_batch, tiny_recipe
from support.torch_steps import tiny_source
from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.torch.distributed import joined, local_shard, make_layout
from tunix_rt.engines.torch.start import load_decoder
from tunix_rt.engines.torch.training.step import TrainStep
from tunix_rt.engines.training.job import ProcessGroup
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.recipes.types import Recipe

NUM_STEPS = 3
DATA = {"sharding": {"data": 2, "fsdp": 1}}
FSDP = {"sharding": {"fsdp": 2}}
LORA = {"mode": "lora", "remat": "none"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "copies": (DATA, {"remat": "none", "gradient_accumulation_steps": 2}),
    "copies with adapters": (DATA, LORA),
    "shared": (FSDP, {"remat": "none"}),
    "shared, layers computed twice, in parts": (FSDP, {"remat": "block", "gradient_accumulation_steps": 2}),
    "shared with adapters": (FSDP, LORA),
    "shared, Adafactor": (FSDP, {"remat": "none", "optimizer": "adafactor"}),
}
"""Sections and training keys; a single process omits `sharding`."""


def trained(recipe: Recipe, processes: ProcessGroup | None) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Train a few steps; returns the losses, norms, validation loss and local weight share, and the state."""
    device = choose_device(DeviceRequest("cpu"))
    source = tiny_source()
    layout = make_layout(recipe, source.architecture, processes, device.device)
    decoder = load_decoder(source, recipe, device)
    step = TrainStep(decoder, recipe, 10, device.device, layout)
    weights = list(decoder.module.parameters())
    own_share = sum(local_shard(weight).numel() for weight in weights) / sum(map(Tensor.numel, weights))
    metrics = [step.run(step.put_batch(random_batch(seed=index)), index) for index in range(NUM_STEPS)]
    validation, num_tokens = step.validation_sums(step.put_batch(random_batch(seed=99)))
    report = {
        "losses": [float(each.loss) for each in metrics],
        "norms": [float(each.grad_norm) for each in metrics],
        "validation": float(validation / num_tokens),
        "own_share": own_share,
    }
    state = {name: tensor.clone() for name, tensor in step.state_dict().items()}
    # The full state can be loaded back into its shards.
    step.load_state_dict(state)
    again = step.state_dict()
    assert all(torch.equal(again[name], tensor) for name, tensor in state.items())
    return report, state


def main(address: str, process_id: str, output: str) -> None:
    torch.set_num_threads(1)
    processes = ProcessGroup(address, 2, int(process_id))
    reports = {}
    with joined(processes, torch.device("cpu"), timeout_s=60):
        for name, (sections, training) in CASES.items():
            reports[name], state = trained(tiny_recipe(sections, **training), processes)
            if process_id == "0":
                torch.save(state, Path(output) / f"{name}.pt")
    (Path(output) / f"{process_id}.json").write_text(json.dumps(reports))


if __name__ == "__main__":
    main(*sys.argv[1:])
