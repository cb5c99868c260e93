"""Compiled figures on disk, so that the same question is answered at once the second time."""

import hashlib
import json
from importlib import metadata
from pathlib import Path

from pydantic import ValidationError

from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.engines.planning.protocol import CompiledStep, CompileRequest

_ENGINES_DIR = Path(__file__).parents[1]
_COMPILERS = ("jax", "jaxlib", "libtpu", "jax-cuda12-plugin", "jax-cuda13-plugin", "optax")
# Keys that the compiled step does not depend on.
_SECTIONS = ("data", "training", "lora", "quantization", "sharding")
_UNRELATED_TRAINING = ("num_steps", "num_epochs", "seed", "learning_rate", "warmup_steps")


def cached_step(plans_dir: Path, request: CompileRequest) -> CompiledStep | None:
    """What the compiler said before about the same step, with the same code and compiler."""
    try:
        return CompiledStep.model_validate_json(_path(plans_dir, request).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def keep_step(plans_dir: Path, request: CompileRequest, step: CompiledStep) -> None:
    """Remember what the compiler said."""
    value = step.model_dump(mode="json")
    write_json_atomically(_path(plans_dir, request), value, what="keeping a compiled plan")


def compiler_versions() -> str:
    """The installed compilers, e.g. `jax 0.10.2, libtpu 0.0.42.1`."""
    return ", ".join(f"{name} {version}" for name in _COMPILERS if (version := _version(name)))


def _path(plans_dir: Path, request: CompileRequest) -> Path:
    identity = {
        "request": step_identity(request),
        "compiler": compiler_versions(),
        "code": _code_hash(),
    }
    text = json.dumps(identity, sort_keys=True)
    return plans_dir / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


def step_identity(request: CompileRequest) -> dict[str, object]:
    """What decides the compiled step: two recipes that agree in it have the same one."""
    value = request.model_dump(mode="json")
    recipe = {name: value["recipe"][name] for name in _SECTIONS}
    recipe["data"] = {"row_length": recipe["data"]["row_length"]}
    recipe["training"] = {
        name: item for name, item in recipe["training"].items() if name not in _UNRELATED_TRAINING
    }
    return value | {"recipe": recipe}


def _code_hash() -> str:
    """Of every file that can change the compiled step: the engine and the shapes it is built from."""
    files = [*(_ENGINES_DIR / "jax").glob("*.py"), *_ENGINES_DIR.glob("*.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
