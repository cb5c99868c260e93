"""tunix-rt traces generate, tunix-rt data gym."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.files.yaml_text import parse_yaml
from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, print_json, print_table, progress_bar, say
from tunix_rt.datasets.types import item_json
from tunix_rt.problems.generate import generate_traces, list_generators
from tunix_rt.problems.gym import gym_eval_items
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import canonical_json

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


CHUNK = 1_000

Tasks = Annotated[
    list[str], typer.Option("--task", help="Name of a task, gym:NAME for reasoning-gym; repeatable.")
]
TracesOutput = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write JSONL here instead of storing the traces."),
]


def generate(
    task: Tasks = [],  # noqa: B006
    count: Annotated[int, typer.Option(min=1, help="How many traces.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same traces.")] = 0,
    output: TracesOutput = None,
    list_tasks: Annotated[bool, typer.Option("--list", help="Show the tasks that can be generated.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Make traces of verifiable problems, each with its worked steps."""
    if list_tasks:
        _show_tasks(as_json)
        return
    traces = generate_traces(task or None, count, seed)
    if output is not None:
        what = "writing the traces"
        with write_atomically(output, what=what) as file, progress_bar("generating", count) as advance:
            for trace in traces:
                file.write(f"{canonical_json(trace)}\n".encode())
                advance(1)
        if as_json:
            print_json({"written": count, "file": str(output)})
        else:
            say(f"Wrote {count:,} to {output}.")
    else:
        num_added = 0
        with opened_home() as opened, progress_bar("generating", count) as advance:
            while chunk := [(trace, canonical_json(trace)) for trace in islice(traces, CHUNK)]:
                num_added += TraceRepository(opened.database).add_many(chunk).num_added
                advance(len(chunk))
        if as_json:
            print_json({"added": num_added, "already_there": count - num_added})
        else:
            say(f"Added {counted(num_added, 'trace')}; {count - num_added:,} were there already.")


def _show_tasks(as_json: bool) -> None:
    generators = list_generators()
    if as_json:
        print_json([item.model_dump() for item in generators])
    else:
        rows = [(item.name, item.topic, item.category, item.extra) for item in generators]
        print_table(("task", "topic", "category", "extra"), rows)
