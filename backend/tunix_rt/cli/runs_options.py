"""What `tunix-rt runs submit` takes."""

from typing import Annotated

import typer

from tunix_rt.core.runs.request import ExecutorName
from tunix_rt.engines.select import AskedEngine
from tunix_rt.engines.types import DeviceName

Recipe = Annotated[
    str, typer.Argument(metavar="RECIPE", help="Name of a recipe, as in smoke_tiny, or a YAML file.")
]
Dataset = Annotated[str | None, typer.Option(help="Key of the dataset. Default: the recipe's.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable."),
]
Name = Annotated[str | None, typer.Option(help="Becomes part of the run's id. Default: the recipe's name.")]
Engine = Annotated[AskedEngine, typer.Option(help="auto takes the one that suits this machine.")]
Device = Annotated[DeviceName, typer.Option(help="Only workers that have it take the run.")]
Target = Annotated[
    str | None, typer.Option(help="Hardware to plan for. Default: this machine. See tunix-rt plan.")
]
Priority = Annotated[int, typer.Option(min=-1000, max=1000, help="Higher first.")]
EvalSet = Annotated[str | None, typer.Option(help="Evaluate the model on this eval set afterwards.")]
SmokeSteps = Annotated[
    int | None, typer.Option(min=1, help="End after this many steps; all else is the same.")
]
Executor = Annotated[ExecutorName, typer.Option(help="Where workers run it: on their machine, or on Ray.")]
Hold = Annotated[bool, typer.Option("--hold", help="Wait until it is resumed.")]
Force = Annotated[
    bool, typer.Option("--force", help="Queue it even though the plan says that it does not fit.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for its end; exit with the code that it ends with.")]
