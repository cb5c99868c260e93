"""Model, tokenizer, batches and number of steps of a run; the identity that its checkpoints share."""

import hashlib
from dataclasses import dataclass
from itertools import islice

from pydantic import JsonValue

from tunix_rt.base.errors import ConflictError, InvalidInputError
from tunix_rt.base.records import Record, flat
from tunix_rt.engines.planning.step import batch_settings, num_steps
from tunix_rt.engines.training.job import Rows, TrainingData
from tunix_rt.engines.weights.sources import (
    ModelSource,
    load_model_tokenizer,
    require_known_ids,
    resolve_model,
)
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.packing import Batches

# These change the speed, the devices, the reports and the files of a run, but not what it learns.
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
# Names whose content is compared instead.
_BY_CONTENT = frozenset({"model.name", "model.revision", "model.tokenizer", "data.dataset"})
_LENGTH = frozenset({"training.num_steps", "training.num_epochs"})

_SAMPLE_BYTES = 64 * 1024
_NUM_SAMPLES = 16


class RunIdentity(Record):
    """The training that a checkpoint belongs to."""

    recipe: dict[str, JsonValue]
    """The keys that decide what is learned."""
    dataset: str
    tokenizer: str
    chat_template: str
    base_model: str

    def require_same(self, other: "RunIdentity") -> None:
        """Reject checkpoints of another training.

        Raises:
            ConflictError: The identities differ; it names every difference.
        """
        differences = [
            f"{key} (was {self.recipe.get(key)!r}, is {other.recipe.get(key)!r})"
            for key in sorted(self.recipe.keys() | other.recipe.keys())
            if self.recipe.get(key) != other.recipe.get(key)
        ]
        differences += [
            f"the content of the {name.replace('_', ' ')}"
            for name in ("dataset", "tokenizer", "chat_template", "base_model")
            if getattr(self, name) != getattr(other, name)
        ]
        if differences:
            raise ConflictError(
                f"The checkpoints belong to another training. Differences: {', '.join(differences)}.",
                next_step="Use the recipe, data and model of that run, or start another with a new --output.",
            )


def _model_fingerprint(source: ModelSource) -> str:
    """A hash of the architecture and of samples of the weights: reading all of them takes minutes."""
    digest = hashlib.sha256(repr(source.architecture).encode())
    files = [] if source.directory is None else sorted(source.directory.glob("*.safetensors"))
    for path in files:
        size = path.stat().st_size
        digest.update(f"{path.name} {size}".encode())
        with path.open("rb") as file:
            for number in range(_NUM_SAMPLES):
                file.seek(size * number // _NUM_SAMPLES)
                digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Prepared:
    """The model, the data and the length of a run."""

    recipe: Recipe
    data: TrainingData
    source: ModelSource
    encoder: TraceEncoder
    batches: Batches
    validation: Batches | None
    num_steps: int

    @property
    def identity(self) -> RunIdentity:
        """The identity that checkpoints of this run carry.

        The length of the run counts only where the schedule depends on it.
        """
        keys = {
            key: value
            for key, value in flat(self.recipe.model_dump(mode="json")).items()
            if not key.startswith(_FREE_SECTIONS) and key not in _FREE_KEYS | _BY_CONTENT | _LENGTH
        }
        if self.recipe.training.schedule != "constant":
            keys["training.num_steps"] = self.num_steps
        return RunIdentity(
            recipe=keys,
            dataset=self.data.content_hash,
            tokenizer=self.encoder.tokenizer.fingerprint,
            chat_template=self.encoder.template.sha256,
            base_model=_model_fingerprint(self.source),
        )

    @property
    def num_validation_batches(self) -> int:
        """Batches of one validation."""
        if self.validation is None:
            return 0
        in_split = self.validation.num_batches_per_epoch
        return min(in_split, self.recipe.eval.max_batches or in_split)

    def epoch_after(self, num_steps: int) -> float:
        """Passes over the rows after that many steps."""
        return num_steps / self.batches.num_batches_per_epoch

    def trace_ids(self, examples: set[int]) -> dict[int, str]:
        """The ids of the traces at these positions of the training split."""
        rows = islice(self.data.train.read(), max(examples, default=-1) + 1)
        return {position: str(row.id) for position, row in enumerate(rows) if position in examples}


def prepare(recipe: Recipe, data: TrainingData) -> Prepared:
    """Resolve the model, encode the rows and pack the batches.

    Raises:
        DataError: The rows cannot be trained on, or do not match the model.
        InvalidInputError: The recipe requires something that the model or the data does not offer.
    """
    source = resolve_model(recipe.model)
    tokenizer = load_model_tokenizer(recipe.model, source)
    template = choose_template(tokenizer, recipe.data.chat_template)
    encoder = TraceEncoder(tokenizer, template, recipe.data.markup)
    batches = _batches(data.train, recipe, encoder, source)
    validation = None if data.validation is None else _batches(data.validation, recipe, encoder, source)
    training, steps = recipe.training, num_steps(recipe, batches.num_batches_per_epoch)
    if training.num_epochs is not None and training.warmup_steps > steps:
        raise InvalidInputError(
            f"training.warmup_steps {training.warmup_steps} is more than the {steps} steps that "
            f"{training.num_epochs:g} epochs of {batches.num_batches_per_epoch} batches make.",
            next_step="Lower training.warmup_steps, or train for more epochs.",
        )
    return Prepared(recipe, data, source, encoder, batches, validation, steps)


def _batches(rows: Rows, recipe: Recipe, encoder: TraceEncoder, source: ModelSource) -> Batches:
    examples = encoder.encode(row.trace() for row in rows.read())
    known = require_known_ids(examples, encoder.tokenizer, source.architecture)
    return Batches(known, batch_settings(recipe), pad_id=encoder.tokenizer.pad_id)
