"""What would break if a version were gone, and how each of it lets go."""

from dataclasses import dataclass
from pathlib import Path

from tunix_rt.base.errors import ConflictError, TunixRTError
from tunix_rt.base.home import Home
from tunix_rt.base.settings import RUN_RECIPE_FILE, Settings
from tunix_rt.core.models.version import ModelVersion
from tunix_rt.db.model_uses import baselines_of
from tunix_rt.db.models import ModelRepository
from tunix_rt.files.model_store import ModelStore
from tunix_rt.recipes.load import load_recipe


@dataclass(frozen=True)
class Use:
    """Something that needs a version."""

    what: str
    release: str
    """The command that ends it."""


def uses_of(home: Home, version: ModelVersion) -> list[Use]:
    """Aliases, baselines, versions and runs that were made from it."""
    aliases = [f"{version.model}@{alias}" for alias in version.aliases]
    named = baselines_of(home.database, version)
    children = [
        other.reference
        for other in ModelRepository(home.database).all_versions()
        if other.lineage.parent == version.reference
    ]
    runs = _runs_from(home.settings, version)
    return [
        *(Use(f"the alias {alias}", f"tunix-rt models unalias {alias}") for alias in aliases),
        *(Use(f"the baseline {name}", f"tunix-rt baselines rm {name}") for name in named),
        *(Use(f"{child}, trained from it", f"tunix-rt models rm {child}") for child in children),
        *(Use(f"the run {run_id}, trained from it", f"tunix-rt runs rm {run_id}") for run_id in runs),
    ]


def require_unused(home: Home, version: ModelVersion) -> None:
    """Refuse to remove what something needs.

    Raises:
        ConflictError: Names everything that needs it, and how the first lets go.
    """
    uses = uses_of(home, version)
    if uses:
        raise ConflictError(
            f"{version.reference} is needed by {'; '.join(use.what for use in uses)}.",
            next_step=f"Release it first: {uses[0].release}",
        )


def _runs_from(settings: Settings, version: ModelVersion) -> list[str]:
    checkout = str(ModelStore(settings.models_dir).checkouts / version.content_hash)
    recipes = sorted(settings.runs_dir.glob(f"*/{RUN_RECIPE_FILE}"))
    return [recipe.parent.name for recipe in recipes if _model_name(recipe) == checkout]


def _model_name(recipe: Path) -> str | None:
    try:
        return load_recipe(recipe).recipe.model.name
    except TunixRTError:
        return None  # being written, or of another version
