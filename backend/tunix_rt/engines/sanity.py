"""What is about to run, in one block: the lines that do not depend on the engine."""

from collections.abc import Mapping

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.preparation import Prepared
from tunix_rt.recipes.types import Recipe


def block(lines: Mapping[str, str]) -> str:
    """One line a subject."""
    return "\n".join(f"{subject:<10} {text}" for subject, text in lines.items())


def model_line(prepared: Prepared, num_trained: int) -> str:
    """The model and how many of its weights are trained."""
    architecture = prepared.source.architecture
    return (
        f"{prepared.source.name} ({architecture.family}): {architecture.num_layers} layers, "
        f"hidden {architecture.hidden_size:,}, vocabulary {architecture.vocab_size:,}; "
        f"{architecture.num_parameters:,} weights, {num_trained:,} trained"
    )


def training_line(recipe: Recipe) -> str:
    """How the weights change."""
    training = recipe.training
    return (
        f"{training.mode}, {training.optimizer.name}, learning rate {training.learning_rate:g} "
        f"{training.schedule}, remat {training.remat}, "
        f"buffers {'donated' if training.donate_buffers else 'not donated'}"
    )


def batch_line(prepared: Prepared, shape: tuple[int, int, int], dtype: str) -> str:
    """A batch of [parts, rows, tokens] as the step gets it."""
    parts, rows, length = shape
    batches = prepared.batches
    trained = batches.num_trained_tokens_per_epoch / batches.num_batches_per_epoch
    return (
        f"{parts} x {rows} rows of {length} tokens ({dtype}), {batches.fill_ratio:.1%} filled, "
        f"{trained:,.0f} trained tokens a step"
    )


def data_line(prepared: Prepared) -> str:
    """What is trained on, and how often."""
    batches = prepared.batches
    dropped = f" ({batches.num_dropped:,} too long, left out)" if batches.num_dropped else ""
    return (
        f"{prepared.data.name}/{prepared.data.train.split}: {batches.num_examples:,} examples{dropped}, "
        f"{batches.num_batches_per_epoch:,} batches an epoch, {prepared.num_steps:,} steps = "
        f"{prepared.epoch_after(prepared.num_steps):.2f} epochs; {_template_text(prepared)}"
    )


def _template_text(prepared: Prepared) -> str:
    name = prepared.encoder.template.name
    return "the tokenizer's own chat template" if name == "tokenizer" else f"built-in chat template {name}"


def logits_text(recipe: Recipe, architecture: Architecture, *, rows: int) -> str:
    """The logits that exist at one time on a device that computes `rows` rows at a time."""
    num_tokens, chunk = rows * recipe.data.row_length, recipe.training.loss_chunk_tokens
    if chunk is not None:
        num_tokens = min(num_tokens, max(rows, chunk))
    vocabulary = architecture.vocab_size
    return f"logits [{num_tokens}, {vocabulary}] float32 {mib(num_tokens * vocabulary * 4)}"


def mib(num_bytes: int) -> str:
    """1048576 -> "1.0 MiB"."""
    return f"{num_bytes / 2**20:,.1f} MiB"
