"""A value that is not the recipe's own, and why."""

from pydantic import BaseModel, ConfigDict, JsonValue


class Override(BaseModel):
    """One change between what the recipe says and what runs; stored with the run.

    Example:
        training.num_steps: 500 -> 2, because of --smoke-steps
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    key: str
    """Dotted key of the recipe, e.g. `training.num_steps`."""
    recipe_value: JsonValue
    """What the recipe says, or its default."""
    used_value: JsonValue
    """What runs."""
    reason: str
    """Who asked for it: a flag, or an automatic choice in words."""
