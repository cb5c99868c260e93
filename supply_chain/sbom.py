"""`make sbom`, last step: both bills of materials are valid, complete, and the same on every machine."""

import json
import sys
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema_rs
from packaging.utils import canonicalize_name

from supply_chain.locked import npm_lock, python_lock

Bom = dict[str, Any]


def without_traces_of_this_machine(bom: Bom) -> Bom:
    """The bill without random numbers, the time, and addresses of files on this disk."""
    metadata = {key: value for key, value in bom.get("metadata", {}).items() if key != "timestamp"}
    kept = {key: value for key, value in bom.items() if key != "serialNumber"}
    return {**kept, "metadata": metadata, "components": [_public(one) for one in bom["components"]]}


def schema_errors(bom: Bom) -> list[str]:
    """Where a bill breaks the schema of the CycloneDX version that it names."""
    schema = _schema(f"bom-{bom.get('specVersion')}.SNAPSHOT.schema.json")
    validator = jsonschema_rs.validator_for(schema, retriever=lambda uri: _schema(uri.rpartition("/")[2]))
    return [error.message for error in validator.iter_errors(bom)]


def missing(bom: Bom, expected: Iterable[tuple[str, str]]) -> list[str]:
    """Packages, by name and version, that a bill does not list."""
    listed = {(_name(one), _public_version(one["version"])) for one in bom["components"]}
    return sorted(f"{name} {version}" for name, version in set(expected) - listed)


def main(directory: Path) -> int:
    """Finish both bills in a directory, and print how many packages each lists. Exit 1: one is not right."""
    python = {(one.name, one.version) for one in python_lock() if one.is_needed_here} | {("torch", "2.13.0")}
    web = {(one.name, one.version) for one in npm_lock()}
    verdicts = [_finish(directory / "python.cdx.json", python), _finish(directory / "web.cdx.json", web)]
    return 0 if all(verdicts) else 1


def _finish(path: Path, expected: set[tuple[str, str]]) -> bool:
    bom = without_traces_of_this_machine(json.loads(path.read_bytes()))
    path.write_text(json.dumps(bom, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    problems = [*schema_errors(bom), *(f"{one} is not listed" for one in missing(bom, expected))]
    print(f"{path.name}: CycloneDX {bom['specVersion']}, {len(bom['components'])} packages")
    for problem in problems:
        print(f"  wrong: {problem}")
    return not problems


def _public(component: Bom) -> Bom:
    references = component.get("externalReferences", [])
    public = [one for one in references if not one["url"].startswith("file:")]
    return {**component, "externalReferences": public} if references else component


def _name(component: Bom) -> str:
    """The name as the locks write it: npm keeps the scope apart, Python spells loosely."""
    if component.get("purl", "").startswith("pkg:npm"):
        group = component.get("group")
        return f"{group}/{component['name']}" if group else component["name"]
    return canonicalize_name(component["name"])


def _public_version(version: str) -> str:
    """Without the name of the build: `2.13.0+cpu` is `2.13.0`."""
    return version.partition("+")[0]


def _schema(name: str) -> Bom:
    schema: Bom = json.loads((resources.files("cyclonedx.schema") / "_res" / name).read_bytes())
    return schema


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
