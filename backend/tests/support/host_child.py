"""Run as one of several processes that train on a mesh of all their devices. Prints the losses."""

import json
import sys

from support.programs import tiny_program, tiny_recipe, train
from tunix_rt.engines.jax.devices import initialize


def main(coordinator: str, num_processes: str, process_id: str) -> None:
    initialize(coordinator, int(num_processes), int(process_id), timeout_s=120)
    program = tiny_program(tiny_recipe())
    _, metrics = train(program, num_steps=3)
    report = {"devices": program.mesh.size, "losses": [float(m.loss) for m in metrics]}
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
