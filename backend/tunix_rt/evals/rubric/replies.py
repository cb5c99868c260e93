"""Reads a judge's reply. It is used as it was asked for, or not at all."""

import re
from collections.abc import Sequence

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from tunix_rt.base.records import explain_validation_error
from tunix_rt.core.evaluation.rubric import Criterion, CriterionGrade

_GRADES = TypeAdapter(dict[str, CriterionGrade])
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class NonsenseError(ValueError):
    """The reply is not the JSON that was asked for; says what is wrong with it."""


def read_reply(text: str, criteria: Sequence[Criterion]) -> dict[str, CriterionGrade]:
    """The grades of a reply, in the order of `criteria`.

    Thoughts and a code fence around the object are passed over; a missing or an unknown criterion, a number
    outside the scale or a number written as text are not.

    Raises:
        NonsenseError: The reply does not answer every criterion in the form that was asked for.
    """
    try:
        grades = _GRADES.validate_python(_json_object(text))
    except ValidationError as error:
        raise NonsenseError(explain_validation_error(error, whole="reply")) from error
    scales = {criterion.name: (criterion.lowest, criterion.highest) for criterion in criteria}
    if grades.keys() != scales.keys():
        raise NonsenseError(f"its keys are {', '.join(grades) or 'none'}, not {', '.join(scales)}")
    for name, (lowest, highest) in scales.items():
        if not lowest <= grades[name].score <= highest:
            raise NonsenseError(f"{name} is {grades[name].score}, outside {lowest} to {highest}")
    return {name: grades[name] for name in scales}


def _json_object(text: str) -> object:
    text = _THOUGHTS.sub("", text)
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise NonsenseError("it holds no JSON object")
    try:
        return from_json(text[start : end + 1], allow_inf_nan=False)
    except ValueError as error:
        raise NonsenseError(f"it is not JSON ({error})") from error
