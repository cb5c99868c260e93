"""`tunix-rt data xray`: every token as trained, masked or padding."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import out, print_json, say
from tunix_rt.cli.xray_view import print_xray
from tunix_rt.core.xray import LossOn
from tunix_rt.services.dataset_xray import ModelChoice, xray_dataset
from tunix_rt.services.xray import XrayOptions
from tunix_rt.services.xray_html import xray_html
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

Key = Annotated[str, typer.Argument(metavar="KEY", help="Key of a dataset: NAME-VERSION.")]
Model = Annotated[str, typer.Option(help="tiny, a directory with tokenizer.json, or a hub id.")]
TemplateName = Annotated[
    str | None,
    typer.Option("--template", help="Built-in chat template, or a .jinja file. Default: the model's own."),
]
Split = Annotated[str | None, typer.Option(help="Split to look at. Default: all of them.")]
Markup = Annotated[MarkupStyle, typer.Option(help="How reasoning and answer are marked.")]
RowLength = Annotated[int | None, typer.Option(min=2, help="Tokens in a row; longer examples are cut.")]
Packed = Annotated[bool, typer.Option("--packed", help="Fill each row with several examples.")]
Index = Annotated[int | None, typer.Option(min=0, help="Show this example.")]
MaxRows = Annotated[int, typer.Option("--rows", min=1, max=200, help="How many rows to show.")]
AllExamples = Annotated[bool, typer.Option("--all", help="Look at every example, not at the first 10,000.")]
LossMask = Annotated[LossOn, typer.Option(help="What a mask would cover; training always uses completion.")]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a self-contained page.")]


def xray(
    key: Key,
    model: Model = "tiny",
    template: TemplateName = None,
    split: Split = None,
    markup: Markup = DEFAULT_MARKUP,
    row_length: RowLength = None,
    packed: Packed = False,
    index: Index = None,
    rows: MaxRows = 1,
    all_examples: AllExamples = False,
    loss_on: LossMask = "completion",
    html: Html = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what training would see: each token as trained, masked or padding. Exit 1 on an error finding."""
    is_file = template is not None and template.endswith(".jinja")
    choice = ModelChoice(
        model=model,
        template=None if is_file else template,
        template_file=Path(template) if is_file and template else None,
        markup=markup,
    )
    options = XrayOptions(
        row_length=row_length,
        packed=packed,
        index=index,
        max_rows=rows,
        max_examples=None if all_examples else 10_000,
        loss_on=loss_on,
    )
    report = xray_dataset(load_settings().datasets_dir, key, choice, options, split=split)
    if html is not None:
        with write_atomically(html, what="writing the X-ray") as file:
            file.write(xray_html(report, title=key).encode())
    print_json(report) if as_json else print_xray(report, out)
    if html is not None and not as_json:
        say(f"Page: {html}")
    if not report.passed:
        raise typer.Exit(1)
