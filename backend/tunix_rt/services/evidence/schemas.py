"""The JSON Schema of every file of a bundle, made from the types that read it."""

import json
from typing import Any

from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from tunix_rt.core.evidence.contents import KINDS
from tunix_rt.core.evidence.crate import RoCrate
from tunix_rt.core.evidence.croissant import Croissant
from tunix_rt.core.evidence.manifest import EvidenceManifest
from tunix_rt.core.evidence.provenance import Statement
from tunix_rt.core.evidence.summary import EvalSummary
from tunix_rt.core.evidence.verdict import EvidenceVerdict
from tunix_rt.datasets.types import DatasetManifest, EvalItem
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.types import MetricsLine, RunEnvironment, RunEvent, RunManifest, ValidationLine
from tunix_rt.evaluation.types import Evaluation, EvaluationStart, FinishedBatch, Prediction
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

_MAY_SAY_NULL = {kind.content_schema for kind in KINDS if kind.strictness == "own-rules"}


class _WithoutNulls(GenerateJsonSchema):
    """What is not known is left out: null is no value."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        return {key: value for key, value in made.items() if not (key == "default" and value is None)}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of that name."""
    generator = GenerateJsonSchema if name in _MAY_SAY_NULL else _WithoutNulls
    made = TYPES[name].json_schema(by_alias=True, schema_generator=generator)
    return {"$schema": _DIALECT, "$id": f"urn:tunix-rt:schema:{name}", **made}


def schema_text(name: str) -> str:
    """The file `docs/schemas/<name>.schema.json`."""
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"
