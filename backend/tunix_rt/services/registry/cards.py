"""The card of a registered version, with what is known of it now."""

from tunix_rt.base.home import Home
from tunix_rt.base.hub import is_hub_id
from tunix_rt.core.models.card import model_card
from tunix_rt.core.models.version import ModelKind, ModelVersion
from tunix_rt.db.model_uses import evaluations_of


def card_of(home: Home, version: ModelVersion, *, kind: ModelKind | None = None) -> str:
    """Markdown with the metadata that the Hugging Face hub reads, for files of this kind."""
    base = version.lineage.base
    base_on_hub = base.name if base is not None and is_hub_id(base.name) else None
    evaluations = evaluations_of(home.database, version)
    return model_card(version, evaluations, kind=kind, base_on_hub=base_on_hub)
