"""The options that choose stored traces, the same on every command that takes them."""

from typing import Annotated

import typer

Source = Annotated[str | None, typer.Option(help="Only traces from this source.")]
MetaPairs = Annotated[list[str], typer.Option("--meta", help="key=value that must be in meta; repeatable.")]
Tags = Annotated[list[str], typer.Option("--tag", help="Must be in meta.tags; repeatable.")]
MinScore = Annotated[float | None, typer.Option(min=0, max=100, help="Lowest linter score.")]
MaxScore = Annotated[float | None, typer.Option(min=0, max=100, help="Highest linter score.")]
WithCodes = Annotated[list[str], typer.Option("--code", help="Has this linter finding; repeatable.")]
WithoutCodes = Annotated[
    list[str], typer.Option("--without-code", help="Lacks this linter finding; repeatable.")
]
Search = Annotated[
    str | None, typer.Option("--query", help="Words that must all occur (word* for a prefix).")
]
