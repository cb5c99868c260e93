"""Check of the batches: packing the rows of the bundle again gives the batches that were logged."""

import math
from collections.abc import Iterator
from itertools import islice

from tunix_rt.base.assets import shipped_model_names, shipped_tokenizer_names
from tunix_rt.base.errors import TunixRTError
from tunix_rt.engines.planning.step import batch_settings
from tunix_rt.engines.training.types import MetricsLine, RunFigures
from tunix_rt.engines.weights.sources import BUILTIN_TOKENIZER
from tunix_rt.evidence.checks.run import read_dataset
from tunix_rt.evidence.reader import Contents
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.packing import Batches
from tunix_rt.tokenization.tokenizer import load_tokenizer
from tunix_rt.traces.types import Trace

MAX_ROW_BYTES = 1 << 28
MAX_BATCHES = 5_000
"""The first logged steps; later ones are not packed again."""


def batch_problems(contents: Contents) -> Iterator[str]:
    """Logged batches that the rows do not make. Nothing if the rows or the tokenizer are not available."""
    recipe = contents.resolved_recipe()
    tokenizer, path = _tokenizer_name(recipe), _rows_path(contents, recipe)
    if tokenizer is None or path is None:
        return
    try:
        batches = _batches(contents, recipe, tokenizer, path)
    except TunixRTError as error:
        yield f"{path} cannot be trained on: {error.detail}"
        return
    figures = contents.manifest().figures
    if figures is not None:
        yield from _figure_problems(batches, figures)
    lines = (line for line in contents.metrics() if isinstance(line, MetricsLine))
    for line in islice(lines, MAX_BATCHES):
        batch = batches.batch(line.step - 1)
        if line.batch_sha256 not in (None, batch.sha256):
            yield f"metrics.jsonl: step {line.step} was trained on another batch than {path} makes"
        num_tokens = int((batch.segment_ids > 0).sum())
        if (line.tokens, line.trained_tokens) != (num_tokens, batch.num_trained_tokens):
            yield (
                f"metrics.jsonl: step {line.step} has {line.trained_tokens} trained of {line.tokens} tokens; "
                f"{path} makes {batch.num_trained_tokens} of {num_tokens}"
            )
        if not math.isclose(line.epoch, line.step / batches.num_batches_per_epoch, rel_tol=1e-6):
            yield f"metrics.jsonl: step {line.step} has the epoch {line.epoch}; {path} makes another"


def can_pack(contents: Contents) -> bool:
    """Whether the bundle has what `batch_problems` needs."""
    if not (contents.has("recipe.resolved.json") and contents.has("dataset/manifest.json")):
        return False
    recipe = contents.resolved_recipe()
    return _tokenizer_name(recipe) is not None and _rows_path(contents, recipe) is not None


def _tokenizer_name(recipe: Recipe) -> str | None:
    """The tokenizer, if it ships with the package: another one is not part of the bundle."""
    name = recipe.model.tokenizer
    if name is None:
        return BUILTIN_TOKENIZER if recipe.model.name in shipped_model_names() else None
    return name if name in shipped_tokenizer_names() else None


def _rows_path(contents: Contents, recipe: Recipe) -> str | None:
    if not contents.has("dataset/manifest.json"):
        return None
    names = [split.filename for split in read_dataset(contents).splits if split.name == recipe.data.split]
    path = f"dataset/{names[0]}" if names else ""
    return path if 0 < contents.bundle.sizes.get(path, 0) <= MAX_ROW_BYTES else None


def _batches(contents: Contents, recipe: Recipe, name: str, path: str) -> Batches:
    tokenizer = load_tokenizer(name)
    template = choose_template(tokenizer, recipe.data.chat_template)
    encoder = TraceEncoder(tokenizer, template, recipe.data.markup)
    traces = (Trace.model_validate_json(line) for _, line in contents.lines(path))
    return Batches(encoder.encode(traces), batch_settings(recipe), pad_id=tokenizer.pad_id)


def _figure_problems(batches: Batches, figures: RunFigures) -> Iterator[str]:
    pairs = {
        "num_examples": (figures.num_examples, batches.num_examples),
        "num_dropped_examples": (figures.num_dropped_examples, batches.num_dropped),
        "fill_ratio": (figures.fill_ratio, batches.fill_ratio),
    }
    for name, (stated, again) in pairs.items():
        if not math.isclose(stated, again, rel_tol=1e-9):
            yield f"run_manifest.json has {name} {stated}; packed again it is {again}"
