"""`tunix-rt worker`: take runs from the queue."""

from importlib import import_module
from typing import Annotated

import typer

from tunix_rt.base.logs import configure_logs
from tunix_rt.base.settings import load_settings
from tunix_rt.runs.types import ExecutorName, parse_slot
from tunix_rt.sweeps.advance import advance_all

# By name: the command line and the worker do not import each other.
_LOOP = "tunix_rt.runs.worker.loop"

Slots = Annotated[
    list[str] | None,
    typer.Option(
        "--slot",
        metavar="DEVICE",
        help="Room for one run at a time: auto (default), cpu, gpu, tpu, or one GPU as gpu:0; repeatable.",
    ),
]
ExecutorOption = Annotated[
    ExecutorName, typer.Option(help="Where runs go: this machine, or the Ray cluster of --ray-address.")
]
RayAddress = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Of the Ray cluster. Default: TUNIX_RT_RAY_ADDRESS.")
]
# For whoever starts a worker as a child and keeps the other end of its standard input.
Lifeline = Annotated[bool, typer.Option("--lifeline", hidden=True)]


def worker(
    slots: Slots = None,
    executor: ExecutorOption = "local",
    ray_address: RayAddress = None,
    lifeline: Lifeline = False,
) -> None:
    """Take runs from the queue until stopped; Ctrl-C saves them and gives them back, twice stops at once."""
    settings = load_settings()
    if ray_address is not None:
        settings = settings.model_copy(update={"ray_address": ray_address})
    configure_logs(settings)
    chosen = [parse_slot(text) for text in slots or ["auto"]]
    run_worker = import_module(_LOOP).run_worker
    raise typer.Exit(
        run_worker(
            settings,
            chosen,
            executor_name=executor,
            is_on_lifeline=lifeline,
            chores={"moving sweeps on": advance_all},
        )
    )
