"""What somebody asks for when they submit a run."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

Priority = Annotated[int, Field(ge=-1000, le=1000)]
ExecutorName = Literal["local", "ray"]


class RunRequest(BaseModel):
    """A recipe, by its name or whole, and how to run it. The body of `POST /api/tunix/runs`."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    recipe: str | dict[str, JsonValue]
    """Name of a shipped recipe or of one in the home's `recipes/`, or the recipe itself. Never a path."""
    overrides: tuple[str, ...] = ()
    """`key=value`, as `tunix-rt train --set` takes them."""
    dataset: str | None = None
    """Key of the dataset. Default: the recipe's."""
    name: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Becomes part of the run's id. Default: the recipe's name."""
    engine: Literal["auto", "jax", "torch"] = "auto"
    device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    priority: Priority = 0
    """Higher first; equal ones in the order they came."""
    is_held: bool = False
    """Wait until somebody resumes it."""
    is_forced: bool = False
    """Run although the plan says that it does not fit."""
    target: str | None = None
    """The hardware that it is planned for. Default: this machine, or what the device says."""
    eval_set: str | None = None
    """Evaluate the model on this eval set when the training is done."""
    executor: ExecutorName = "local"
    num_smoke_steps: Annotated[int, Field(ge=1)] | None = None
    """End after this many steps; all else is the same."""

    @model_validator(mode="after")
    def _has_a_recipe(self) -> Self:
        if not self.recipe:
            raise ValueError("recipe is empty")
        return self
