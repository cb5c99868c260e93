"""`tunix-rt data gym`: an eval set of fresh reasoning-gym questions."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.files.yaml_text import parse_yaml
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, print_json, say
from tunix_rt.datasets.types import item_json
from tunix_rt.services.gym import gym_eval_items

Task = Annotated[str, typer.Argument(metavar="TASK", help="Name of a reasoning-gym task, e.g. chain_sum.")]
Output = Annotated[Path, typer.Option("--output", metavar="FILE", help="The JSONL file to write.")]
Changes = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="An option of the task; repeatable.")
]


def gym(
    task: Task,
    output: Output,
    count: Annotated[int, typer.Option(min=1, help="How many items.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same items.")] = 0,
    changes: Changes = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Write an eval set of one reasoning-gym task, for `tunix-rt eval --eval-set FILE`."""
    options = dict(_option(change) for change in changes)
    items = list(gym_eval_items(task, count, seed, options))
    with write_atomically(output, what="writing the eval set") as file:
        file.write("".join(f"{item_json(item)}\n" for item in items).encode())
    if as_json:
        print_json({"written": len(items), "file": str(output)})
    else:
        say(f"Wrote {counted(len(items), 'item')} to {output}.")


def _option(change: str) -> tuple[str, JsonValue]:
    key, equals, value = change.partition("=")
    if not key or not equals:
        raise InvalidInputError(
            f"--set {change!r} is not KEY=VALUE.", next_step="Write it as: --set max_digits=1"
        )
    parsed: JsonValue = parse_yaml(value, what=f"--set {key}")
    return key, parsed
