"""tunix-rt traces review, export-reviews."""

import sys
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.home import opened_home
from tunix_rt.base.records import explain_validation_error
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, print_json, say
from tunix_rt.traces.export import write_lines
from tunix_rt.traces.review import ReviewExport, TraceReview, add_revision, review_lines
from tunix_rt.traces.store import TraceRepository


def review(
    trace_id: Annotated[UUID, typer.Argument(help="Id of a stored trace.")],
    accept: Annotated[list[int], typer.Option(help="Number of a correct step; repeatable.")] = [],  # noqa: B006
    edit: Annotated[
        list[str], typer.Option(metavar="STEP=TEXT", help="New text of a step; repeatable.")
    ] = [],  # noqa: B006
    reject: Annotated[list[int], typer.Option(help="Number of a wrong step to remove; repeatable.")] = [],  # noqa: B006
    answer: Annotated[str | None, typer.Option(help="The correct final answer.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Store a corrected trace as a new version. The reviewed trace is not changed."""
    steps: list[dict[str, Any]] = [{"i": i, "verdict": "accepted"} for i in accept]
    for change in edit:
        step, equals, content = change.partition("=")
        if not equals or not step.strip().isdecimal():
            raise InvalidInputError(
                f"--edit {change!r} is not STEP=TEXT.", next_step="For example: --edit '1=2 + 3 = 5'"
            )
        steps.append({"i": int(step), "verdict": "edited", "content": content})
    steps += [{"i": i, "verdict": "rejected"} for i in reject]
    try:
        corrections = TraceReview.model_validate({"steps": steps, "final_answer": answer})
    except ValidationError as error:
        raise InvalidInputError(
            f"This review is not valid: {explain_validation_error(error, whole='review')}.",
            next_step="See: tunix-rt traces review --help",
        ) from error
    with opened_home() as opened:
        receipt = add_revision(TraceRepository(opened.database), trace_id, corrections)
    print_json(receipt) if as_json else say(f"Stored as {receipt.id}, linter score {receipt.score:.0f}.")


def export_reviews(
    kind: Annotated[ReviewExport, typer.Argument(help="What to export.")],
    output: Annotated[str, typer.Option(metavar="FILE", help="FILE; - is standard output.")] = "-",
    as_json: JsonFlag = False,
) -> None:
    """Export reviews as preference pairs or as labelled steps."""
    with opened_home() as opened:
        lines = review_lines(TraceRepository(opened.database), kind)
        if output == "-":
            write_lines(lines, sys.stdout.buffer)
            return
        with write_atomically(Path(output), what="writing the export") as file:
            num_lines = write_lines(lines, file)
    if as_json:
        print_json({"file": output, "kind": kind, "num_exported": num_lines})
    else:
        say(f"Wrote {counted(num_lines, 'line')} to {output}.")
