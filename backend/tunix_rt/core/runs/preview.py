"""What a run would be, before it is one."""

from pydantic import Field, JsonValue

from tunix_rt.base.records import Record
from tunix_rt.engines.planning.types import Plan


class RunPreview(Record):
    """A request that could run: what it resolves to, and what is predicted."""

    recipe_name: str
    model: str
    dataset: str
    mode: str
    engine: str
    engine_reason: str
    recipe: dict[str, JsonValue]
    """The resolved one, with `overrides`, as `recipe.resolved.json` has it."""
    plan: Plan | None = None
    """Absent when it is not known on which hardware it will run; the notes say so."""
    notes: tuple[str, ...] = Field(default=())
