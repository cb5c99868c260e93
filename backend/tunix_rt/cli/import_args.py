"""The options that say how a file of rows is read, the same on every command that reads one."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.core.formats.registry import ROW_FORMATS

InputFile = Annotated[
    str, typer.Argument(metavar="FILE", help="JSONL, CSV, TSV or Parquet, also .gz; - reads standard input.")
]
RowFormatName = Annotated[
    str | None,
    typer.Option("--format", help=f"Shape of the rows: {', '.join(ROW_FORMATS)}. Default: by the first row."),
]
FileTypeName = Annotated[
    str | None, typer.Option("--file-type", help="jsonl, csv, tsv or parquet. Default: by the file itself.")
]
ColumnPairs = Annotated[
    list[str],
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN",
        help="Column of prompt, completion, steps, final_answer or meta.NAME; repeatable.",
    ),
]
SourceName = Annotated[
    str | None,
    typer.Option(help="meta.source of every trace. Default: what the row says, else the file's name."),
]
SkipInvalid = Annotated[
    bool, typer.Option("--skip-invalid", help="Import the good rows of a file with bad ones.")
]
Rejects = Annotated[
    Path | None, typer.Option("--rejects", metavar="FILE", help="Write rejected rows with line and reason.")
]
RequireMarker = Annotated[
    bool, typer.Option("--require-marker", help="Reject rows whose answer would be their last line.")
]
DropExtraColumns = Annotated[
    bool,
    typer.Option("--drop-extra-columns", help="Leave other columns out; else they are kept in meta."),
]
KeepAnnotations = Annotated[
    bool, typer.Option("--keep-annotations", help="Keep the <<48/2=24>> annotations of GSM8K.")
]
