"""Filters of evaluations and predictions as SQL."""

from sqlalchemy import ColumnElement, or_

from tunix_rt.base.db.schema import evaluations, predictions
from tunix_rt.core.evaluation.prediction import Prediction
from tunix_rt.core.evaluation.store_types import EvaluationFilter, PredictionFilter


def evaluation_conditions(criteria: EvaluationFilter) -> list[ColumnElement[bool]]:
    """What must hold of an evaluation."""
    columns = evaluations.c
    conditions = [
        columns[name] == wanted
        for name in ("dataset", "evalset", "run_id")
        if (wanted := getattr(criteria, name)) is not None
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


def prediction_conditions(criteria: PredictionFilter) -> list[ColumnElement[bool]]:
    """What must hold of a prediction."""
    conditions: list[ColumnElement[bool]] = [
        predictions.c[name] == wanted
        for name in ("verdict", "section", "category", "difficulty", "rule")
        if (wanted := getattr(criteria, name)) is not None
    ]
    if criteria.text is not None:
        conditions.append(predictions.c.searched.contains(criteria.text.lower(), autoescape=True))
    return conditions


def searched_text(prediction: Prediction) -> str:
    """What `PredictionFilter.text` is looked for in, without the one character PostgreSQL cannot hold."""
    parts = (prediction.prompt, prediction.expected_answer, prediction.generation.text or "")
    return "\n".join(parts).lower().replace("\x00", " ")
