"""`tunix-rt eval export`: an evaluation for tools that read what lm-evaluation-harness writes."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json, say
from tunix_rt.cli.eval_records import Reference
from tunix_rt.services.evaluation_exporting import export_evaluation
from tunix_rt.services.evaluations import find_evaluation

To = Annotated[Path, typer.Option("--to", metavar="DIR", help="Directory of the two files.")]


def export(reference: Reference, to: To, as_json: JsonFlag = False) -> None:
    """Write `samples_*.jsonl`, a line an item, and `results_*.json`."""
    with opened_home() as home:
        samples, results = export_evaluation(home, find_evaluation(home, reference), to)
    if as_json:
        print_json({"samples": str(samples), "results": str(results)})
    else:
        say(f"{samples}\n{results}")
