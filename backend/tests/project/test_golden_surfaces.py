"""The public interface compared with golden files: plans, lint reports, commands, HTTP, ids, fingerprints.

Prose (help texts, descriptions, reasons) is left out: rewording it breaks no user.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from support.golden import command_output, json_lines
from typer.main import get_command

from tunix_rt.api.openapi import openapi_document
from tunix_rt.base.assets import shipped_evalset_path, shipped_recipe_names, shipped_traces
from tunix_rt.cli.main import app
from tunix_rt.traces.corruption import NothingToCorruptError, corrupt
from tunix_rt.traces.types import Trace, canonical_json, trace_id

AssertGolden = Callable[[str, str], None]

# Plans are estimated without a compiler, so every machine gets the same ones.
PLAN_TARGETS = (("jax", "h100"), ("jax", "v5e-1"), ("torch", "l4"))
PROSE_OF_PLANS = ("reason", "assumptions", "notes")
DATASET = "dev-reasoning-v2"
EVALSETS = ("demo_arithmetic_heldout", "eval_v2")
MARKUPS = ("reasoning", "counted", "think", "boxed", "hash")


def test_plans_match_golden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, assert_golden: AssertGolden
) -> None:
    # A tokenizer in the local cache would change the token counts.
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / "hub"))
    plans = {
        f"{recipe} {engine} {target}": plan(recipe, engine, target)
        for recipe in shipped_recipe_names()
        for engine, target in PLAN_TARGETS
    }
    assert_golden("plans.json", json_lines(plans))


def plan(recipe: str, engine: str, target: str) -> dict[str, Any]:
    # The command exits with 1 if the plan does not fit.
    done = command_output(
        "plan", recipe, "--engine", engine, "--on", target, "--fast", "--json", exit_codes=(0, 1)
    )
    found: dict[str, Any] = json.loads(done, parse_float=lambda text: float(f"{float(text):.9g}"))
    for fix in found["fixes"]:
        del fix["cost"]
    return {key: value for key, value in found.items() if key not in PROSE_OF_PLANS}


def test_lint_reports_match_golden(tmp_path: Path, assert_golden: AssertGolden) -> None:
    corpus = list(lint_corpus())
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(f"{canonical_json(trace)}\n" for _, trace in corpus), encoding="utf-8")
    reports = [json.loads(line) for line in command_output("traces", "lint", file, "--json").splitlines()]
    assert len(reports) == len(corpus)
    lines = [
        json.dumps([name, str(trace_id(canonical_json(trace))), report["score"], *findings_of(report)])
        for (name, trace), report in zip(corpus, reports, strict=True)
    ]
    assert_golden("lint_reports.jsonl", "\n".join(lines) + "\n")


def lint_corpus() -> Iterator[tuple[str, Trace]]:
    """Yield the shipped traces, each followed by a corrupted copy where possible."""
    for number, line in enumerate(shipped_traces(DATASET), 1):
        trace = Trace.model_validate_json(line)
        yield f"{number}", trace
        try:
            broken = corrupt(trace, seed=number, propagate=number % 2 == 0)
        except NothingToCorruptError:
            continue
        yield f"{number} {broken.kind}{' propagated' * broken.is_propagated}", broken.trace


def findings_of(report: dict[str, Any]) -> list[str]:
    """Return `code` or `code@step` for every finding."""
    found = ((finding["code"], finding.get("step")) for finding in report["findings"])
    return [code if step is None else f"{code}@{step}" for code, step in found]


def test_command_tree_matches_golden(assert_golden: AssertGolden) -> None:
    assert_golden("cli_tree.json", json_lines(dict(commands("tunix-rt", get_command(app)))))


def commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield every group and command with its parameters, in order."""
    yield path, [parameter(option) for option in command.params] + ["hidden"] * bool(command.hidden)
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(f"{path} {name}", child)


def parameter(option: Any) -> str:
    """Return `name: options, type[, from MIN][, to MAX][, required][, multiple][, hidden][, = default]`."""
    parts = [" ".join([*option.opts, *option.secondary_opts]), type_name(option.type_descriptor.annotation)]
    limits = (("from", getattr(option, "min", None)), ("to", getattr(option, "max", None)))
    parts += [f"{word} {limit}" for word, limit in limits if limit is not None]
    parts += [word for word in ("required", "multiple", "hidden") if getattr(option, word, False)]
    if option.default not in (None, False, (), []) and not callable(option.default):
        parts.append(f"= {option.default}")
    return f"{option.name}: {', '.join(parts)}"


def type_name(annotation: Any) -> str:
    """Return a type such as `path` or `list[str]`, or choices such as `auto|jax|torch`."""
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    is_class = isinstance(annotation, type) and not get_args(annotation)
    return annotation.__name__.lower() if is_class else str(annotation)


def test_openapi_matches_golden(assert_golden: AssertGolden) -> None:
    document = openapi_document()
    lines = [
        operation_line(method, path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines.append(f"schema {name} {short_hash(schema)}")
    assert_golden("openapi.txt", "\n".join(lines) + "\n")


def operation_line(method: str, path: str, operation: dict[str, Any]) -> str:
    """Return method, path, operation id, hashes of parameters and body, and the body of every status."""
    words = [method.upper(), path, operation["operationId"]]
    words += [
        f"{option['in']}:{option['name']}:{short_hash(option)}" for option in operation.get("parameters", ())
    ]
    if "requestBody" in operation:
        words.append(f"body={body(operation['requestBody'])}")
    words += [f"{status}={body(response)}" for status, response in operation["responses"].items()]
    return " ".join(words)


def body(message: dict[str, Any]) -> str:
    """Return the name of the body's schema, or the hash of an unnamed one."""
    kinds = [
        f"{content_type.removeprefix('application/')}:{schema_name(content.get('schema', {}))}"
        for content_type, content in message.get("content", {}).items()
    ]
    return ",".join(kinds) or "-"


def schema_name(schema: dict[str, Any]) -> str:
    reference: str = schema.get("$ref", "")
    return reference.rpartition("/")[2] or short_hash(schema)


def short_hash(schema: Any) -> str:
    text = json.dumps(without_prose(schema), sort_keys=True)
    # Schemas that share a name are prefixed with their module path, which may change.
    text = re.sub(r"(?<=/)tunix_rt__\w+__", "", text)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:10]


def without_prose(value: Any) -> Any:
    """Return the schema without descriptions, but keep properties named `description`."""
    if isinstance(value, dict):
        return {
            key: without_prose(inner)
            for key, inner in value.items()
            if not (key == "description" and isinstance(inner, str))
        }
    return [without_prose(inner) for inner in value] if isinstance(value, list) else value


def test_evaluation_fingerprints_match_golden(tmp_path: Path, assert_golden: AssertGolden) -> None:
    found = {}
    for evalset in EVALSETS:
        predictions = write_predictions(tmp_path / f"{evalset}.jsonl", evalset)
        for options in [("--markup", markup) for markup in MARKUPS] + [("--lenient",)]:
            command = ("eval", "score", "--predictions", predictions, "--eval-set", evalset, *options)
            evaluation = json.loads(command_output(*command, "--json"))
            found[f"{evalset} {' '.join(options)}"] = evaluation["fingerprint"]
    assert_golden("fingerprints.json", json_lines(found))


def write_predictions(file: Path, evalset: str) -> Path:
    """Write the same prediction for every item."""
    items = map(json.loads, shipped_evalset_path(evalset).read_text(encoding="utf-8").splitlines())
    lines = [json.dumps({"id": item["id"], "prediction": "<answer>1</answer>"}) for item in items]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
