"""Everything before the device, the same for every engine: model, tokenizer, batches, number of steps."""

import math
from dataclasses import dataclass
from itertools import islice

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.base import Rows, TrainingData
from tunix_rt.engines.identity import RunIdentity, run_identity
from tunix_rt.engines.model_tokenizer import load_model_tokenizer
from tunix_rt.engines.models import ModelSource, resolve_model
from tunix_rt.engines.vocabulary import require_known_ids
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.packing import Batches, BatchSettings


@dataclass(frozen=True, eq=False)
class Prepared:
    """What an engine trains, and on what."""

    recipe: Recipe
    data: TrainingData
    source: ModelSource
    encoder: TraceEncoder
    batches: Batches
    validation: Batches | None
    num_steps: int

    @property
    def identity(self) -> RunIdentity:
        """What a checkpoint of this training belongs to."""
        return run_identity(self.recipe, self.num_steps, self.data.content_hash, self.encoder, self.source)

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
    """Find the model, encode the rows, fill the batches.

    Raises:
        DataError: The rows must not be trained on, or do not go with the model.
        InvalidInputError: The recipe asks for something that this model or data cannot give.
    """
    source = resolve_model(recipe.model)
    tokenizer = load_model_tokenizer(recipe.model, source)
    template = choose_template(tokenizer, recipe.data.chat_template)
    encoder = TraceEncoder(tokenizer, template, recipe.data.markup)
    batches = _batches(data.train, recipe, encoder, source)
    validation = None if data.validation is None else _batches(data.validation, recipe, encoder, source)
    num_steps = _num_steps(recipe, batches.num_batches_per_epoch)
    return Prepared(recipe, data, source, encoder, batches, validation, num_steps)


def _batches(rows: Rows, recipe: Recipe, encoder: TraceEncoder, source: ModelSource) -> Batches:
    settings = BatchSettings(
        row_length=recipe.data.row_length,
        rows_per_batch=recipe.training.batch_size,
        packed=recipe.data.packing,
        seed=recipe.training.seed,
        overlong=recipe.data.overlong,
    )
    examples = encoder.encode(row.trace() for row in rows.read())
    known = require_known_ids(examples, encoder.tokenizer, source.architecture)
    return Batches(known, settings, pad_id=encoder.tokenizer.pad_id)


def _num_steps(recipe: Recipe, batches_per_epoch: int) -> int:
    training = recipe.training
    if training.num_steps is not None:
        return training.num_steps
    assert training.num_epochs is not None  # the recipe has one of the two
    num_steps = max(1, math.ceil(training.num_epochs * batches_per_epoch))
    if training.warmup_steps > num_steps:
        raise InvalidInputError(
            f"training.warmup_steps {training.warmup_steps} is more than the {num_steps} steps that "
            f"{training.num_epochs:g} epochs of {batches_per_epoch} batches make.",
            next_step="Lower training.warmup_steps, or train for more epochs.",
        )
    return num_steps
