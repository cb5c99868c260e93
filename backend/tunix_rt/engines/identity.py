"""What makes two runs the same training, so that one may go on where the other stopped."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

from tunix_rt.base.errors import ConflictError
from tunix_rt.engines.models import ModelSource
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.encoding import TraceEncoder

# These change how fast or where a run computes, when it reports and what it keeps; not what it learns.
_FREE_SECTIONS = ("output.", "sharding.", "eval.")
_FREE_KEYS = frozenset(
    {
        "training.gradient_accumulation_steps",
        "training.remat",
        "training.loss_chunk_tokens",
        "training.attention",
        "training.donate_buffers",
    }
)
# Names of things whose content is compared instead.
_BY_CONTENT = frozenset({"model.name", "model.revision", "model.tokenizer", "data.dataset"})
_LENGTH = frozenset({"training.num_steps", "training.num_epochs"})

_SAMPLE_BYTES = 64 * 1024
_NUM_SAMPLES = 16


class RunIdentity(BaseModel):
    """What a checkpoint belongs to."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    recipe: dict[str, JsonValue]
    """The keys that decide what is learned."""
    dataset: str
    tokenizer: str
    chat_template: str
    base_model: str

    def require_same(self, other: "RunIdentity") -> None:
        """Refuse to go on with a run that trains something else.

        Raises:
            ConflictError: names everything that differs.
        """
        differences = [*_different_keys(self.recipe, other.recipe)]
        differences += [
            f"the content of the {name.replace('_', ' ')}"
            for name in ("dataset", "tokenizer", "chat_template", "base_model")
            if getattr(self, name) != getattr(other, name)
        ]
        if differences:
            raise ConflictError(
                f"The checkpoints belong to another training. Different: {', '.join(differences)}.",
                next_step="Use the recipe, data and model of that run, or start another with a new --output.",
            )


def run_identity(
    recipe: Recipe, num_steps: int, dataset_hash: str, encoder: TraceEncoder, source: ModelSource
) -> RunIdentity:
    """The identity of the run of a recipe. Its length counts only where the schedule depends on it."""
    keys = {key: value for key, value in _flat(recipe.model_dump(mode="json")) if not _is_free(key)}
    if recipe.training.schedule != "constant":
        keys["training.num_steps"] = num_steps
    return RunIdentity(
        recipe=keys,
        dataset=dataset_hash,
        tokenizer=encoder.tokenizer.fingerprint,
        chat_template=encoder.template.sha256,
        base_model=_model_fingerprint(source),
    )


def _is_free(key: str) -> bool:
    return key.startswith(_FREE_SECTIONS) or key in _FREE_KEYS | _BY_CONTENT | _LENGTH


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, JsonValue]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _different_keys(saved: Mapping[str, JsonValue], wanted: Mapping[str, JsonValue]) -> Iterator[str]:
    for key in sorted(saved.keys() | wanted.keys()):
        if saved.get(key) != wanted.get(key):
            yield f"{key} (was {saved.get(key)!r}, is {wanted.get(key)!r})"


def _model_fingerprint(source: ModelSource) -> str:
    """A hash over the shape and over samples of the weights: to read all of them takes minutes."""
    digest = hashlib.sha256(repr(source.architecture).encode())
    files = [] if source.directory is None else sorted(source.directory.glob("*.safetensors"))
    for file in files:
        digest.update(f"{file.name} {file.stat().st_size}".encode())
        digest.update(_samples(file))
    return digest.hexdigest()


def _samples(file: Path) -> bytes:
    size = file.stat().st_size
    pieces = []
    with file.open("rb") as opened:
        for number in range(_NUM_SAMPLES):
            opened.seek(size * number // _NUM_SAMPLES)
            pieces.append(opened.read(_SAMPLE_BYTES))
    return b"".join(pieces)
