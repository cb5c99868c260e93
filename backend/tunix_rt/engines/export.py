"""Exports that every engine shares: checkpoints, merged adapters, config.json, the tokenizer."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.engines.generation.base import GeneratingEngine, GeneratorRequest
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.weights.sources import ModelSource
from tunix_rt.recipes.types import FloatFormat, Recipe, ShardingSection
from tunix_rt.tokenization.chat_template import save_tokenizer
from tunix_rt.tokenization.encoding import TraceEncoder

RequestedFormat = FloatFormat | Literal["auto"]


class ExportingEngine(GeneratingEngine, Protocol):
    """An engine that can export checkpoints and merge adapters."""

    def export_checkpoint(self, job: TrainingJob, step: int, directory: Path) -> None:
        """Write the weights that a run had after `step` steps, as the run itself exports them at its end.

        Raises:
            NotFoundError: There is no checkpoint of the step.
            DataError: It is damaged.
        """

    def merge_adapter(self, request: GeneratorRequest, directory: Path, dtype: RequestedFormat) -> None:
        """Write the request's model with its adapter merged: summed in float32, rounded once to `dtype`."""


def recipe_of_checkpoint(job: TrainingJob) -> Recipe:
    """The job's recipe with default sharding and attention: this machine may differ from that of the run.

    Raises:
        NotFoundError: The run has no checkpoints.
    """
    if not job.checkpoints.is_dir():
        raise NotFoundError(
            f"The run {job.run_dir.run_id} has no checkpoints.",
            next_step="Omit the step to register the model that the run exported.",
        )
    recipe = job.resolved.recipe
    training = recipe.training.model_copy(update={"attention": "auto"})
    return recipe.model_copy(update={"sharding": ShardingSection(), "training": training})


def merged_format(source: ModelSource, requested: RequestedFormat) -> FloatFormat:
    """The number format of a merged model: the requested one, else that of the base model."""
    if requested != "auto":
        return requested
    own = source.config.get("dtype") or source.config.get("torch_dtype")
    return "bfloat16" if source.directory is not None and own == "bfloat16" else "float32"


_WHAT = "writing the model's configuration"
# The oldest transformers that reads our files. Without it, newer ones suspect an old Mistral tokenizer in
# every model and warn about wrong tokens.
_LAYOUT = {"transformers_version": "4.56.0"}


def write_model_config(directory: Path, source: ModelSource, encoder: TraceEncoder, *, dtype: str) -> None:
    """Write config.json and generation_config.json with the control tokens of the training tokenizer.

    Generation then ends at the end-of-turn token that training used.
    """
    tokenizer = encoder.tokenizer
    named = {key: tokenizer.token_id(text) for key, text in tokenizer.named_tokens.items()}
    # The end of the turn comes first.
    ends = [token_id for token_id in (encoder.end_of_turn_id, named.get("eos_token")) if token_id is not None]
    token_ids: dict[str, Any] = {"eos_token_id": list(dict.fromkeys(ends))} if ends else {}
    for key in ("bos_token", "pad_token"):
        if named.get(key) is not None:
            token_ids[f"{key}_id"] = named[key]
    config = _LAYOUT | text_config(source.config) | token_ids | {"dtype": dtype}
    config.pop("torch_dtype", None)  # the name of `dtype` in older versions of transformers
    write_json_atomically(directory / "config.json", config, what=_WHAT)
    # The sampling settings of the base model, if it has any.
    path = source.directory / "generation_config.json" if source.directory is not None else None
    settings = json.loads(path.read_text(encoding="utf-8")) if path is not None and path.is_file() else {}
    write_json_atomically(directory / "generation_config.json", settings | token_ids, what=_WHAT)


def write_tokenizer(directory: Path, source: ModelSource, encoder: TraceEncoder) -> None:
    """Write the tokenizer and the chat template of the training."""
    max_positions = source.architecture.max_positions
    save_tokenizer(directory, encoder.tokenizer, encoder.template, max_positions=max_positions)


def text_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config of the text model: of a multimodal Gemma 3, only the text model is trained."""
    if config.get("model_type") != "gemma3":
        return dict(config)
    return {**config["text_config"], "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"]}
