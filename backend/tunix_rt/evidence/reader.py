"""Bundle files as typed values; JSON Schemas."""

import json
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from tunix_rt.base.errors import DataError
from tunix_rt.datasets.types import DatasetManifest, EvalItem
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.types import MetricsLine, RunEnvironment, RunEvent, RunManifest, ValidationLine
from tunix_rt.evaluation.types import Evaluation, EvaluationStart, FinishedBatch, Prediction
from tunix_rt.evidence.documents import Croissant, RoCrate, Statement
from tunix_rt.evidence.files import Bundle, iter_lines, read_whole
from tunix_rt.evidence.summary import EvalSummary, TrainingCurve, training_curve
from tunix_rt.evidence.types import KINDS, EvidenceManifest, EvidenceVerdict
from tunix_rt.recipes.types import Override, Recipe
from tunix_rt.traces.types import Trace

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class ResolvedRecipeFile(Recipe):
    """`recipe.resolved.json`: every key of the recipe, and what differs from its file."""

    overrides: list[Override] = Field(default_factory=list)


TYPES: dict[str, TypeAdapter[Any]] = {
    "croissant": TypeAdapter(Croissant),
    "dataset_manifest": TypeAdapter(DatasetManifest),
    "environment": TypeAdapter(RunEnvironment),
    "eval_item": TypeAdapter(EvalItem),
    "eval_summary": TypeAdapter(EvalSummary),
    "evaluation": TypeAdapter(Evaluation),
    "evaluation_start": TypeAdapter(EvaluationStart),
    "evidence": TypeAdapter(EvidenceManifest),
    "evidence_verdict": TypeAdapter(EvidenceVerdict),
    "finished_batch": TypeAdapter(FinishedBatch),
    "metrics_line": TypeAdapter(MetricsLine | ValidationLine),
    "plan": TypeAdapter(Plan),
    "prediction": TypeAdapter(Prediction),
    "provenance": TypeAdapter(Statement),
    "recipe": TypeAdapter(ResolvedRecipeFile),
    "ro_crate": TypeAdapter(RoCrate),
    "run_event": TypeAdapter(RunEvent),
    "run_manifest": TypeAdapter(RunManifest),
    "trace": TypeAdapter(Trace),
}
"""Schema -> the type that reads such a file, or such a line."""

_NULLABLE = {kind.content_schema for kind in KINDS if kind.strictness == "own-rules"}


class _WithoutNulls(GenerateJsonSchema):
    """What is not known is left out: null is no value."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        return {key: value for key, value in made.items() if not (key == "default" and value is None)}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of that name."""
    generator = GenerateJsonSchema if name in _NULLABLE else _WithoutNulls
    made = TYPES[name].json_schema(by_alias=True, schema_generator=generator)
    return {"$schema": _DIALECT, "$id": f"urn:tunix-rt:schema:{name}", **made}


def schema_text(name: str) -> str:
    """The file `docs/schemas/<name>.schema.json`."""
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"


MAX_JSON_BYTES = 16 << 20
"""A JSON file of a bundle is read whole: none of a real one comes near that."""
MAX_LINE_BYTES = 16 << 20

M = TypeVar("M", bound=BaseModel)


class Contents:
    """The files of a bundle by what they mean."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    def has(self, path: str) -> bool:
        """Whether the file is there."""
        return path in self.bundle.sizes

    def manifest(self) -> RunManifest:
        """How the run ended."""
        return self._model("run_manifest.json", RunManifest)

    def environment(self) -> RunEnvironment:
        """On what it ran."""
        return self._model("environment.json", RunEnvironment)

    def evaluation(self) -> Evaluation:
        """What it scored."""
        return self._model("evaluation.json", Evaluation)

    def summary(self) -> EvalSummary:
        """What it comes to."""
        return self._model("eval_summary.json", EvalSummary)

    def recipe(self) -> dict[str, Any]:
        """What ran, as plain values."""
        values = strict_json(self.text("recipe.resolved.json"), "recipe.resolved.json")
        if not isinstance(values, dict):
            raise damaged("recipe.resolved.json", "it is no object")
        return values

    def curve(self) -> TrainingCurve:
        """The training in a few numbers, read line by line."""
        return training_curve(self.metrics())

    def metrics(self) -> Iterator[MetricsLine | ValidationLine]:
        """Every logged step and validation."""
        return self._lines("metrics.jsonl", "metrics_line")

    def events(self) -> Iterator[RunEvent]:
        """What happened."""
        return self._lines("events.jsonl", "run_event")

    def items(self) -> tuple[EvalItem, ...]:
        """The questions."""
        return tuple(self._lines("evalset.jsonl", "eval_item"))

    def predictions(self) -> Iterator[Prediction]:
        """The answers."""
        return self._lines("predictions.jsonl", "prediction")

    def text(self, path: str) -> bytes:
        """A whole file."""
        if not self.has(path):
            raise damaged(path, "it is not there")
        return read_whole(self.bundle, path, max_bytes=MAX_JSON_BYTES)

    def lines(self, path: str) -> Iterator[tuple[int, bytes]]:
        """The lines with their numbers; a last one without its end is a torn one."""
        if not self.has(path):
            raise damaged(path, "it is not there")
        for number, line in enumerate(iter_lines(self.bundle, path, max_bytes=MAX_LINE_BYTES), start=1):
            if not line.endswith(b"\n"):
                raise damaged(path, f"line {number} has no end")
            yield number, line

    def _model(self, path: str, kind: type[M]) -> M:
        try:
            return kind.model_validate_json(self.text(path))
        except ValidationError as error:
            raise damaged(path, first_problem(error)) from error

    def _lines(self, path: str, schema: str) -> Iterator[Any]:
        for number, line in self.lines(path):
            try:
                yield TYPES[schema].validate_json(line)
            except ValidationError as error:
                raise damaged(path, f"line {number}: {first_problem(error)}") from error


def strict_json(text: bytes, path: str) -> Any:
    """The value of a JSON text.

    Raises:
        DataError: It is no JSON: NaN and infinities are not, and neither is a key that is there twice.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicate_keys)
    except (ValueError, RecursionError) as error:
        raise damaged(path, str(error)) from error


def first_problem(error: ValidationError) -> str:
    """What is wrong first, with its place."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, problem["loc"]))
    return f"{place}: {problem['msg']}" if place else problem["msg"]


def damaged(path: str, problem: str) -> DataError:
    """The error of a file that is not what it should be."""
    return DataError(
        f"{path}: {problem}", next_step="Pack the run again, or take another copy of the bundle."
    )


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found
