"""The tokens at which a completion ends."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.models import ModelSource
from tunix_rt.tokenization.encoding import TraceEncoder


def stop_token_ids(source: ModelSource, encoder: TraceEncoder) -> frozenset[int]:
    """The end of the turn as training teaches it, and what the model and its tokenizer call their end.

    Raises:
        InvalidInputError: The model's `generation_config.json` is damaged.
    """
    tokenizer = encoder.tokenizer
    candidates = [encoder.end_of_turn_id, tokenizer.token_id(tokenizer.named_tokens.get("eos_token", ""))]
    candidates += _ends_in(source.config)
    if source.directory is not None:
        candidates += _ends_in(_read_object(source.directory / "generation_config.json"))
    return frozenset(token_id for token_id in candidates if token_id is not None)


def _ends_in(config: Mapping[str, Any]) -> Iterator[int]:
    """`eos_token_id` is a number or a list of them."""
    value = config.get("eos_token_id")
    yield from (end for end in (value if isinstance(value, list) else [value]) if isinstance(end, int))


def _read_object(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInputError(
            f"{path} cannot be read: {error}", next_step="Download or save the model again."
        ) from error
    return settings if isinstance(settings, dict) else {}
