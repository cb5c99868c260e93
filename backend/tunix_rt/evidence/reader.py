"""Read bundle files as typed values; their JSON Schemas."""

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
    """`recipe.resolved.json`: every key of the recipe, and the overrides of its file."""

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
"""Schema name -> type of the file, or of each of its lines."""

_NULLABLE = {kind.content_schema for kind in KINDS if kind.strictness == "own-rules"}


class _WithoutNulls(GenerateJsonSchema):
    """Schemas without null: unknown fields are omitted."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        generated = super().default_schema(schema)
        return {key: value for key, value in generated.items() if not (key == "default" and value is None)}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema with this name."""
    generator = GenerateJsonSchema if name in _NULLABLE else _WithoutNulls
    schema = TYPES[name].json_schema(by_alias=True, schema_generator=generator)
    return {"$schema": _DIALECT, "$id": f"urn:tunix-rt:schema:{name}", **schema}


def schema_text(name: str) -> str:
    """The content of `docs/schemas/<name>.schema.json`."""
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"


MAX_JSON_BYTES = 16 << 20
"""JSON files of a bundle are read into memory; real ones are far smaller."""
MAX_LINE_BYTES = 16 << 20

M = TypeVar("M", bound=BaseModel)


class Contents:
    """The files of a bundle as typed values."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    def has(self, path: str) -> bool:
        """Whether the bundle has this file."""
        return path in self.bundle.sizes

    def manifest(self) -> RunManifest:
        """The manifest of the run."""
        return self._model("run_manifest.json", RunManifest)

    def environment(self) -> RunEnvironment:
        """The environment of the run."""
        return self._model("environment.json", RunEnvironment)

    def evaluation(self) -> Evaluation:
        """The evaluation of the run."""
        return self._model("evaluation.json", Evaluation)

    def evaluation_start(self) -> EvaluationStart:
        """The request of the evaluation."""
        return self._model("eval_request.json", EvaluationStart)

    def plan(self) -> Plan:
        """The prediction that was made before the run."""
        return self._model("plan.json", Plan)

    def resolved_recipe(self) -> ResolvedRecipeFile:
        """The resolved recipe."""
        return self._model("recipe.resolved.json", ResolvedRecipeFile)

    def summary(self) -> EvalSummary:
        """The summary of the evaluation."""
        return self._model("eval_summary.json", EvalSummary)

    def recipe(self) -> dict[str, Any]:
        """The resolved recipe as plain values."""
        values = strict_json(self.text("recipe.resolved.json"), "recipe.resolved.json")
        if not isinstance(values, dict):
            raise damaged("recipe.resolved.json", "it is not an object")
        return values

    def curve(self) -> TrainingCurve:
        """The training curve, read line by line."""
        return training_curve(self.metrics())

    def metrics(self) -> Iterator[MetricsLine | ValidationLine]:
        """Every logged step and validation."""
        return self._lines("metrics.jsonl", "metrics_line")

    def events(self) -> Iterator[RunEvent]:
        """The event log of the run."""
        return self._lines("events.jsonl", "run_event")

    def items(self) -> tuple[EvalItem, ...]:
        """The items of the eval set."""
        return tuple(self._lines("evalset.jsonl", "eval_item"))

    def predictions(self) -> Iterator[Prediction]:
        """The predictions."""
        return self._lines("predictions.jsonl", "prediction")

    def batches(self) -> Iterator[FinishedBatch]:
        """The batches of the evaluation."""
        return self._lines("eval_log.jsonl", "finished_batch")

    def text(self, path: str) -> bytes:
        """The content of a file."""
        if not self.has(path):
            raise damaged(path, "it is missing")
        return read_whole(self.bundle, path, max_bytes=MAX_JSON_BYTES)

    def lines(self, path: str) -> Iterator[tuple[int, bytes]]:
        """The lines with their numbers; a last line without a newline is an error."""
        if not self.has(path):
            raise damaged(path, "it is missing")
        for number, line in enumerate(iter_lines(self.bundle, path, max_bytes=MAX_LINE_BYTES), start=1):
            if not line.endswith(b"\n"):
                raise damaged(path, f"line {number} is truncated")
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
    """Parse a JSON text strictly.

    Raises:
        DataError: It is not valid JSON; NaN, infinities and duplicate keys are refused.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicate_keys)
    except (ValueError, RecursionError) as error:
        raise damaged(path, str(error)) from error


def first_problem(error: ValidationError) -> str:
    """The first problem with its location."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    location = ".".join(map(str, problem["loc"]))
    return f"{location}: {problem['msg']}" if location else problem["msg"]


def damaged(path: str, problem: str) -> DataError:
    """The error for an invalid file."""
    return DataError(f"{path}: {problem}", next_step="Pack the run again, or get another copy of the bundle.")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is duplicated")
    return found
