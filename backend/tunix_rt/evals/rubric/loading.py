"""Rubrics by name or from a file. YAML, and so JSON too."""

from pathlib import Path

from pydantic import ValidationError

from tunix_rt.base.assets import shipped_rubric_path
from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.base.files.yaml_text import parse_yaml
from tunix_rt.base.records import explain_validation_error
from tunix_rt.core.evaluation.rubric import Rubric

_EXAMPLE = "docs/judging.md shows a rubric"
_ENDINGS = (".yaml", ".yml", ".json")


def load_rubric(reference: str) -> Rubric:
    """The rubric of a name or of a file.

    Example:
        "shown_work", "rubrics/mine.yaml"

    Raises:
        NotFoundError: There is no such rubric.
        InvalidInputError: The file is not a rubric.
    """
    if "/" not in reference and not reference.endswith(_ENDINGS):
        return read_rubric(shipped_rubric_path(reference))
    return read_rubric(Path(reference))


def read_rubric(path: Path) -> Rubric:
    """The rubric in a file."""
    try:
        values = parse_yaml(path.read_text(encoding="utf-8"), what=path.name, example=_EXAMPLE)
        return Rubric.model_validate(values)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise NotFoundError(
            f"There is no rubric file {path}.",
            next_step="Check the path, or name a shipped rubric: shown_work.",
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path.name} is not UTF-8 text.", next_step=f"Save it as UTF-8; {_EXAMPLE}."
        ) from error
    except ValidationError as error:
        raise InvalidInputError(
            f"{path.name} is not a rubric: {explain_validation_error(error, whole='rubric')}.",
            next_step=f"Correct it; {_EXAMPLE} with every key.",
        ) from error
