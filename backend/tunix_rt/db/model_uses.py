"""What else in the database is about a registered version: evaluations of it, and baselines among them."""

from sqlalchemy import ColumnElement, Engine, or_, select

from tunix_rt.base.db.engine import reading
from tunix_rt.base.db.schema import baselines, evaluations
from tunix_rt.core.evaluation.record import EvaluationSummary
from tunix_rt.core.models.version import ModelVersion


def evaluations_of(engine: Engine, version: ModelVersion) -> tuple[EvaluationSummary, ...]:
    """Every evaluation of these weights, newest first: of the version, or of the run that exported them."""
    chosen = select(evaluations.c.summary).where(_is_of(version))
    newest = chosen.order_by(evaluations.c.created_at.desc(), evaluations.c.pk.desc())
    with reading(engine) as connection:
        return tuple(map(EvaluationSummary.model_validate_json, connection.execute(newest).scalars()))


def baselines_of(engine: Engine, version: ModelVersion) -> tuple[str, ...]:
    """The baselines that rest on an evaluation of these weights, by name."""
    joined = select(baselines.c.name).join(evaluations, evaluations.c.pk == baselines.c.evaluation_pk)
    with reading(engine) as connection:
        return tuple(connection.execute(joined.where(_is_of(version)).order_by(baselines.c.name)).scalars())


def _is_of(version: ModelVersion) -> ColumnElement[bool]:
    is_version = evaluations.c.model_name == version.reference
    lineage = version.lineage
    # A checkpoint has other weights than the run exported, and so other scores.
    if lineage.run_id is None or lineage.is_checkpoint:
        return is_version
    return or_(is_version, evaluations.c.run_id == lineage.run_id)
