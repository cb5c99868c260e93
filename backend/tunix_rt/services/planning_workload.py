"""How many steps a recipe takes, counted from its dataset as training would batch it."""

import math
from collections.abc import Sequence
from itertools import islice

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.service import chosen_split, get_dataset, iter_rows
from tunix_rt.engines.models import ModelSource, tokenizer_source
from tunix_rt.engines.planning.workload import Workload
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import EncodedExample, TraceEncoder
from tunix_rt.tokenization.packing import Batches, BatchSettings
from tunix_rt.tokenization.tokenizer import Tokenizer, load_tokenizer

MAX_ENCODED = 1_000
"""Examples that are tokenised for a plan; a larger split is extrapolated from them."""
# dev-reasoning-v2 has 200 characters a trace and 113 to 138 tokens in the tokenizers of Gemma, Llama, SmolLM2
# and Qwen3: digits are single tokens, and the markup is cut into several.
_CHARS_PER_TOKEN = 2.4
_TOKENS_AROUND = 40
_ASSUMED_FILL = 0.95


def count_workload(settings: Settings, recipe: Recipe, model: ModelSource) -> Workload:
    """Steps of the run; without the dataset or its tokenizer, what can be said and what is assumed.

    Nothing is downloaded: a tokenizer that is not on this machine is replaced by a stated assumption.

    Raises:
        NotFoundError: The recipe names a dataset or a split that does not exist.
    """
    key = recipe.data.dataset
    if key is None:
        return _without_dataset(recipe)
    statistics = chosen_split(get_dataset(settings.datasets_dir, key), recipe.data.split).statistics
    tokenizer = _local_tokenizer(recipe, model)
    if tokenizer is None:
        mean_chars = statistics.chars.mean if statistics.chars else 0.0
        return _from_characters(recipe, statistics.num_rows, mean_chars)
    encoder = TraceEncoder(
        tokenizer, choose_template(tokenizer, recipe.data.chat_template), recipe.data.markup
    )
    traces = (row.trace() for row in iter_rows(settings.datasets_dir, key, recipe.data.split))
    examples = list(encoder.encode(islice(traces, MAX_ENCODED)))
    if statistics.num_rows > len(examples):
        mean_tokens = sum(map(len, examples)) / len(examples)
        return _extrapolated(recipe, statistics.num_rows, mean_tokens, f"the first {MAX_ENCODED:,} examples")
    return _counted(recipe, examples, pad_id=tokenizer.pad_id)


def _without_dataset(recipe: Recipe) -> Workload:
    if recipe.training.num_steps is not None:
        return Workload(recipe.training.num_steps)
    return Workload(assumptions=("No dataset is named (--dataset), so the total time is not known.",))


def _local_tokenizer(recipe: Recipe, model: ModelSource) -> Tokenizer | None:
    try:
        return load_tokenizer(tokenizer_source(recipe.model, model, online=False), online=False)
    except TunixRTError:
        return None  # the caller says what is assumed in its place


def _from_characters(recipe: Recipe, num_examples: int, mean_chars: float) -> Workload:
    basis = (
        f"{_CHARS_PER_TOKEN} characters a token and {_TOKENS_AROUND} tokens of markup and template, "
        "because the tokenizer is not on this machine"
    )
    return _extrapolated(recipe, num_examples, mean_chars / _CHARS_PER_TOKEN + _TOKENS_AROUND, basis)


def _extrapolated(recipe: Recipe, num_examples: int, mean_tokens: float, basis: str) -> Workload:
    rows = num_examples
    if recipe.data.packing:
        rows = math.ceil(num_examples * mean_tokens / (recipe.data.row_length * _ASSUMED_FILL))
    batches = math.ceil(rows / recipe.training.batch_size)
    assumption = f"{num_examples:,} examples of {mean_tokens:.0f} tokens on average, from {basis}."
    return Workload(_num_steps(recipe, batches), assumptions=(assumption,))


def _counted(recipe: Recipe, examples: Sequence[EncodedExample], *, pad_id: int) -> Workload:
    settings = BatchSettings(
        row_length=recipe.data.row_length,
        rows_per_batch=recipe.training.batch_size,
        packed=recipe.data.packing,
        seed=recipe.training.seed,
        overlong=recipe.data.overlong,
    )
    batches = Batches(examples, settings, pad_id=pad_id)
    longest = max(map(len, examples))
    counted = (
        f"{batches.num_examples:,} examples fill {batches.num_batches_per_epoch:,} batches an epoch, "
        f"{batches.fill_ratio:.0%} full."
    )
    return Workload(_num_steps(recipe, batches.num_batches_per_epoch), longest, (counted,))


def _num_steps(recipe: Recipe, batches_per_epoch: int) -> int:
    if recipe.training.num_steps is not None:
        return recipe.training.num_steps
    assert recipe.training.num_epochs is not None  # the recipe has one of the two
    return max(1, math.ceil(recipe.training.num_epochs * batches_per_epoch))
