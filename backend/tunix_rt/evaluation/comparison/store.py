"""SQL: baselines and gate checks."""

from typing import Any

from sqlalchemy import Engine, Row, Select, delete, func, insert, select, true
from sqlalchemy.dialects import postgresql, sqlite

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import baselines, evaluations, gate_checks
from tunix_rt.base.errors import NotFoundError, did_you_mean
from tunix_rt.base.records import pagination
from tunix_rt.evaluation.comparison.types import Baseline, GateCheck, GateCheckList, GateRule
from tunix_rt.evaluation.store import evaluation_not_found


class BaselineRepository:
    """Baselines in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, baseline: Baseline) -> None:
        """Store a baseline, replacing any of that name; NotFoundError for an unknown evaluation."""
        chosen = select(evaluations.c.pk).where(evaluations.c.id == baseline.evaluation_id)
        with writing(self._engine) as connection:
            # Locked, so that the evaluation cannot be deleted in the meantime.
            pk = connection.execute(chosen.with_for_update(key_share=True, read=True)).scalar_one_or_none()
            if pk is None:
                raise evaluation_not_found(baseline.evaluation_id)
            values = {
                "evaluation_pk": pk,
                "created_at": baseline.created_at,
                "rule": baseline.rule.model_dump_json(),
            }
            dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
            row: sqlite.Insert | postgresql.Insert = dialect.insert(baselines).values(
                name=baseline.name, **values
            )
            connection.execute(row.on_conflict_do_update(index_elements=["name"], set_=values))

    def get(self, name: str) -> Baseline:
        """The baseline of this name, or NotFoundError with similar names."""
        with reading(self._engine) as connection:
            row = connection.execute(_stored().where(baselines.c.name == name)).one_or_none()
        if row is None:
            raise self._unknown(name)
        return _baseline(row)

    def list(self) -> tuple[Baseline, ...]:
        """Every baseline, by name."""
        with reading(self._engine) as connection:
            return tuple(map(_baseline, connection.execute(_stored().order_by(baselines.c.name))))

    def delete(self, name: str) -> None:
        """Delete a baseline, or NotFoundError; its evaluation is kept."""
        with writing(self._engine) as connection:
            num_deleted = connection.execute(delete(baselines).where(baselines.c.name == name)).rowcount
        if not num_deleted:
            raise self._unknown(name)

    def _unknown(self, name: str) -> NotFoundError:
        known = [baseline.name for baseline in self.list()]
        hint = did_you_mean(name, known) if known else "Create one: tunix-rt baselines set NAME EVALUATION"
        return NotFoundError(f"There is no baseline {name!r}.", next_step=hint)


def _stored() -> Select[Any]:
    columns = (baselines.c.name, baselines.c.created_at, baselines.c.rule, evaluations.c.id)
    return select(*columns).join(evaluations, evaluations.c.pk == baselines.c.evaluation_pk)


def _baseline(row: Row[Any]) -> Baseline:
    return Baseline(
        name=row.name,
        evaluation_id=row.id,
        rule=GateRule.model_validate_json(row.rule),
        created_at=row.created_at,
    )


class GateCheckRepository:
    """Verdicts in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, check: GateCheck) -> None:
        """Store a verdict."""
        values = {
            "baseline": check.baseline_name,
            "checked_at": check.checked_at,
            "record": check.model_dump_json(),
        }
        with writing(self._engine) as connection:
            connection.execute(insert(gate_checks).values(**values))

    def list(self, baseline: str | None = None, *, limit: int, offset: int) -> GateCheckList:
        """A page of verdicts, newest first, with the total; `None` means all baselines."""
        matches = true() if baseline is None else gate_checks.c.baseline == baseline
        newest = (gate_checks.c.checked_at.desc(), gate_checks.c.pk.desc())
        chosen = select(gate_checks.c.record).where(matches).order_by(*newest).limit(limit).offset(offset)
        with reading(self._engine) as connection:
            total = connection.execute(
                select(func.count()).select_from(gate_checks).where(matches)
            ).scalar_one()
            data = tuple(map(GateCheck.model_validate_json, connection.execute(chosen).scalars()))
        return GateCheckList(data=data, pagination=pagination(limit, offset, len(data), total))
