"""Run as a child process with 8 simulated devices. Trains on several meshes and prints a JSON report."""

import json
import sys
from typing import Any

import jax

from support.programs import tiny_program, tiny_recipe, train

ONE = {"fsdp": 1}
FSDP = {"fsdp": 8}
TENSOR = {"fsdp": 1, "tensor": 2}
ALL = {"data": 2, "fsdp": 2, "tensor": 2}
SECTIONS: dict[str, dict[str, Any]] = {
    "full": {},
    "qlora": {"lora": {"rank": 4, "dropout": 0.1}, "quantization": {"block_size": 8}},
}


def losses(mode: str, sharding: dict[str, int], **training: Any) -> list[float]:
    recipe = tiny_recipe(SECTIONS[mode] | {"sharding": sharding}, mode=mode, **training)
    return [float(metrics.loss) for metrics in train(tiny_program(recipe), num_steps=3)[1]]


def memory(sharding: dict[str, int]) -> dict[str, int]:
    """Return the bytes per device of a step whose memory is mostly weights."""
    recipe = tiny_recipe({"sharding": sharding})
    program = tiny_program(recipe, num_hidden_layers=12, intermediate_size=4096)
    abstract = (program.abstract_state, program.abstract_frozen, program.abstract_batch)
    analysis = program.train_step.lower(*abstract).compile().memory_analysis()
    weights = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(program.abstract_params))
    return {
        "weights": weights,
        "arguments": analysis.argument_size_in_bytes,
        "temporaries": analysis.temp_size_in_bytes,
    }


def main() -> None:
    report = {
        "losses": {
            "full": {
                "one": losses("full", ONE),
                "fsdp": losses("full", FSDP),
                "tensor": losses("full", TENSOR),
                "all": losses("full", ALL, gradient_accumulation_steps=2),
            },
            "qlora": {"one": losses("qlora", ONE), "all": losses("qlora", ALL)},
        },
        "memory": memory(FSDP),
    }
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
