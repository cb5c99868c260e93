"""The repository of verdicts that gates gave."""

from sqlalchemy import Engine, func, insert, select, true

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import gate_checks
from tunix_rt.core.evaluation.comparison import GateCheck, GateCheckPage


class GateCheckRepository:
    """Verdicts in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, check: GateCheck) -> None:
        """Keep a verdict."""
        values = {
            "baseline": check.baseline_name,
            "checked_at": check.checked_at,
            "record": check.model_dump_json(),
        }
        with writing(self._engine) as connection:
            connection.execute(insert(gate_checks).values(**values))

    def list(self, baseline: str | None = None, *, limit: int, offset: int) -> GateCheckPage:
        """A page of verdicts, newest first, and how many there are; `None` means of every baseline."""
        fits = true() if baseline is None else gate_checks.c.baseline == baseline
        newest = (gate_checks.c.checked_at.desc(), gate_checks.c.pk.desc())
        chosen = select(gate_checks.c.record).where(fits).order_by(*newest).limit(limit).offset(offset)
        with reading(self._engine) as connection:
            total = connection.execute(select(func.count()).select_from(gate_checks).where(fits)).scalar_one()
            records = connection.execute(chosen).scalars().all()
        return GateCheckPage(data=tuple(map(GateCheck.model_validate_json, records)), total=total)
