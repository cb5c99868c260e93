"""SQL: evaluations and predictions."""

from collections.abc import Generator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Engine, Select, delete, func, or_, select

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import baselines, evaluations, predictions
from tunix_rt.base.db.statements import insert_new, insert_rows, stored_value
from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.records import Record, pagination
from tunix_rt.evaluation.types import (
    Evaluation,
    EvaluationFilter,
    EvaluationList,
    EvaluationOrder,
    Prediction,
    PredictionFilter,
    PredictionList,
    summary_of,
)
from tunix_rt.models.types import EvaluationSummary


def _conditions(criteria: EvaluationFilter) -> list[ColumnElement[bool]]:
    columns = evaluations.c
    conditions = [
        columns[name] == value
        for name in ("dataset", "evalset", "run_id")
        if (value := getattr(criteria, name)) is not None
    ]
    if criteria.model is not None:
        names = (columns.model_name, columns.base_model)
        conditions.append(or_(*(name.icontains(criteria.model, autoescape=True) for name in names)))
    if criteria.recipe is not None:
        conditions.append(columns.recipe.icontains(criteria.recipe, autoescape=True))
    if criteria.start is not None:
        conditions.append(columns.created_at >= criteria.start)
    if criteria.end is not None:
        conditions.append(columns.created_at < criteria.end)
    return conditions


MIN_PREFIX_CHARS = 6
_UUID_CHARS = 32
_CHUNK = 500
_PREDICTION_COLUMNS = tuple(column.name for column in predictions.columns)
_ORDERS = {
    "newest": (evaluations.c.created_at.desc(), evaluations.c.pk.desc()),
    "best": (
        evaluations.c.primary_score.is_(None),
        evaluations.c.primary_score.desc(),
        evaluations.c.created_at.desc(),
        evaluations.c.pk.desc(),
    ),
}


class EvaluationRepository:
    """Evaluations in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, evaluation: Evaluation, judged: Sequence[Prediction]) -> bool:
        """Store an evaluation with its predictions in order; False if it is stored already.

        Raises:
            ConflictError: another evaluation has this id.
        """
        with writing(self._engine) as connection:
            pk = _insert_evaluation(connection, evaluation)
            if pk is None:
                stored = _record(connection, evaluation.evaluation_id)
                if stored is None or Evaluation.model_validate_json(stored) != evaluation:
                    raise ConflictError(
                        f"Another evaluation is stored under the id {evaluation.evaluation_id}.",
                        next_step="Compare with the stored one: "
                        f"tunix-rt eval show {evaluation.evaluation_id}",
                    )
                return False
            rows = [_prediction_row(pk, position, one) for position, one in enumerate(judged)]
            insert_rows(connection, predictions.name, _PREDICTION_COLUMNS, rows)
        return True

    def get(self, evaluation_id: UUID) -> Evaluation:
        """The evaluation with this id, or NotFoundError."""
        with reading(self._engine) as connection:
            record = _record(connection, evaluation_id)
        if record is None:
            raise evaluation_not_found(evaluation_id)
        return Evaluation.model_validate_json(record)

    def has(self, evaluation_id: UUID) -> bool:
        """Whether there is an evaluation with this id."""
        with reading(self._engine) as connection:
            return _has(connection, evaluation_id)

    def list(
        self, criteria: EvaluationFilter, *, limit: int, offset: int, order: EvaluationOrder = "newest"
    ) -> EvaluationList:
        """A page of evaluations with the total number of matches."""
        chosen = select(evaluations.c.summary).where(*_conditions(criteria))
        with reading(self._engine) as connection:
            total = _count(connection, chosen)
            page = chosen.order_by(*_ORDERS[order]).limit(limit).offset(offset)
            data = tuple(map(EvaluationSummary.model_validate_json, connection.execute(page).scalars()))
        return EvaluationList(data=data, pagination=pagination(limit, offset, len(data), total))

    def newest_of_run(self, run_id: str, *, evalset: str | None = None) -> Evaluation | None:
        """The newest evaluation of a run, optionally on this eval set; None if there is none."""
        chosen = select(evaluations.c.record).where(evaluations.c.run_id == run_id)
        if evalset is not None:
            chosen = chosen.where(evaluations.c.evalset == evalset)
        newest = chosen.order_by(*_ORDERS["newest"]).limit(1)
        with reading(self._engine) as connection:
            record = connection.execute(newest).scalar_one_or_none()
        return None if record is None else Evaluation.model_validate_json(record)

    def find_ids(self, prefix: str) -> tuple[UUID, ...]:
        """The ids that begin with these hexadecimal digits, ignoring dashes, newest first."""
        digits = prefix.replace("-", "").lower()
        first = UUID(hex=digits.ljust(_UUID_CHARS, "0"))
        last = UUID(hex=digits.ljust(_UUID_CHARS, "f"))
        chosen = select(evaluations.c.id).where(evaluations.c.id >= first, evaluations.c.id <= last)
        with reading(self._engine) as connection:
            return tuple(connection.execute(chosen.order_by(*_ORDERS["newest"])).scalars())

    def predictions(
        self, evaluation_id: UUID, criteria: PredictionFilter, *, limit: int, offset: int
    ) -> PredictionList:
        """A page of predictions in the order of the eval set, with the total number of matches."""
        chosen = _predictions_of(evaluation_id)
        for name in ("verdict", "section", "category", "difficulty", "rule"):
            if (value := getattr(criteria, name)) is not None:
                chosen = chosen.where(predictions.c[name] == value)
        if criteria.text is not None:
            chosen = chosen.where(predictions.c.searched.contains(criteria.text.lower(), autoescape=True))
        with reading(self._engine) as connection:
            _require(connection, evaluation_id)
            total = _count(connection, chosen)
            page = chosen.order_by(predictions.c.position).limit(limit).offset(offset)
            data = tuple(map(Prediction.model_validate_json, connection.execute(page).scalars()))
        return PredictionList(data=data, pagination=pagination(limit, offset, len(data), total))

    def prediction(self, evaluation_id: UUID, item_id: str) -> tuple[Prediction, ...]:
        """Every sample of one item, or NotFoundError."""
        chosen = _predictions_of(evaluation_id).where(predictions.c.item_id == item_id)
        with reading(self._engine) as connection:
            _require(connection, evaluation_id)
            records = connection.execute(chosen.order_by(predictions.c.sample)).scalars().all()
        if not records:
            raise NotFoundError(
                f"The evaluation {evaluation_id} has no item {item_id!r}.",
                next_step=f"List its items: tunix-rt eval items {evaluation_id}",
            )
        return tuple(map(Prediction.model_validate_json, records))

    def iter_predictions(self, evaluation_id: UUID) -> Generator[Prediction, None, None]:
        """Stream all predictions in the order of the eval set.

        It holds a connection until it is exhausted or closed: see `contextlib.closing`.
        """
        with reading(self._engine) as connection:
            _require(connection, evaluation_id)
            chosen = _predictions_of(evaluation_id).order_by(predictions.c.position)
            streamed = connection.execution_options(yield_per=_CHUNK).execute(chosen).scalars()
            yield from map(Prediction.model_validate_json, streamed)

    def delete(self, evaluation_id: UUID) -> None:
        """Delete an evaluation and its predictions.

        Raises:
            NotFoundError: there is none with this id.
            ConflictError: a baseline names it.
        """
        with writing(self._engine) as connection:
            # Locked, so that no baseline can refer to it in the meantime.
            chosen = select(evaluations.c.pk).where(evaluations.c.id == evaluation_id).with_for_update()
            pk = connection.execute(chosen).scalar_one_or_none()
            if pk is None:
                raise evaluation_not_found(evaluation_id)
            named = select(baselines.c.name).where(baselines.c.evaluation_pk == pk)
            names = connection.execute(named.order_by(baselines.c.name)).scalars().all()
            if names:
                raise ConflictError(
                    f"The evaluation {evaluation_id} is the baseline {', '.join(map(repr, names))}.",
                    next_step=f"Remove the baseline first: tunix-rt baselines rm {names[0]}",
                )
            connection.execute(delete(evaluations).where(evaluations.c.pk == pk))


def _insert_evaluation(connection: Connection, evaluation: Evaluation) -> int | None:
    """The key of the new row; None if the id exists."""
    model = evaluation.model
    row = {
        "id": evaluation.evaluation_id.hex,
        "created_at": stored_value(connection, evaluations.c.created_at, evaluation.created_at),
        "evalset": evaluation.evalset,
        "fingerprint": evaluation.fingerprint,
        "model_name": model.name,
        "run_id": model.run_id,
        "base_model": model.base_model,
        "dataset": model.dataset,
        "recipe": model.recipe,
        "primary_score": evaluation.scores.primary_score,
        "summary": _json(summary_of(evaluation)),
        "record": _json(evaluation),
    }
    added = insert_new(connection, evaluations, tuple(row), [tuple(row.values())])
    return added.get(evaluation.evaluation_id.hex)


def _prediction_row(evaluation_pk: int, position: int, prediction: Prediction) -> tuple[Any, ...]:
    searched = (prediction.prompt, prediction.expected_answer, prediction.generation.text or "")
    return (
        evaluation_pk,
        position,
        prediction.item_id,
        prediction.sample,
        prediction.judgement.verdict,
        prediction.section,
        prediction.category,
        prediction.difficulty,
        prediction.judgement.rule,
        "\n".join(searched).lower().replace("\x00", " "),  # PostgreSQL cannot store NUL
        _json(prediction),
    )


def _json(record: Record) -> str:
    # JSON escapes NUL characters, which a model may generate and PostgreSQL cannot store.
    return record.model_dump_json(exclude_none=True)


def _record(connection: Connection, evaluation_id: UUID) -> str | None:
    result = connection.execute(select(evaluations.c.record).where(evaluations.c.id == evaluation_id))
    return result.scalar_one_or_none()


def _predictions_of(evaluation_id: UUID) -> Select[Any]:
    joined = select(predictions.c.record).join(evaluations, evaluations.c.pk == predictions.c.evaluation_pk)
    return joined.where(evaluations.c.id == evaluation_id)


def _has(connection: Connection, evaluation_id: UUID) -> bool:
    result = connection.execute(select(evaluations.c.pk).where(evaluations.c.id == evaluation_id))
    return result.scalar_one_or_none() is not None


def _require(connection: Connection, evaluation_id: UUID) -> None:
    if not _has(connection, evaluation_id):
        raise evaluation_not_found(evaluation_id)


def _count(connection: Connection, chosen: Select[Any]) -> int:
    counted = chosen.with_only_columns(func.count(), maintain_column_froms=True)
    return int(connection.execute(counted).scalar_one())


def evaluation_not_found(evaluation_id: UUID) -> NotFoundError:
    """The error for an unknown id."""
    return NotFoundError(
        f"There is no evaluation {evaluation_id}.",
        next_step="List the stored evaluations: tunix-rt eval list",
    )
