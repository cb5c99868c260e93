"""The tokenizer of a trained model, in the files that Hugging Face libraries load."""

from pathlib import Path
from typing import Any

from tunix_rt.base.files.atomic import write_atomically, write_json_atomically
from tunix_rt.engines.chat_template import ChatTemplate
from tunix_rt.engines.tokenizer import Tokenizer

_WHAT = "writing the tokenizer"


def save_tokenizer(
    directory: Path, tokenizer: Tokenizer, template: ChatTemplate, *, max_positions: int
) -> None:
    """Write exactly what was trained with: the ids of every text, the control tokens, the chat template."""
    with write_atomically(directory / "tokenizer.json", what=_WHAT) as file:
        file.write(tokenizer.fast.to_str(pretty=True).encode("utf-8"))
    write_json_atomically(directory / "tokenizer_config.json", _config(tokenizer, max_positions), what=_WHAT)
    with write_atomically(directory / "chat_template.jinja", what=_WHAT) as file:
        file.write(template.source.encode("utf-8"))


def _config(tokenizer: Tokenizer, max_positions: int) -> dict[str, Any]:
    decoder = tokenizer.fast.get_added_tokens_decoder()
    named = set(tokenizer.named_tokens.values())
    controls = [decoder[token_id].content for token_id in sorted(tokenizer.control_token_ids)]
    return {
        # Reads tokenizer.json as it is; the classes of the families rebuild parts of it by their own rules.
        "tokenizer_class": "PreTrainedTokenizerFast",
        **tokenizer.named_tokens,
        "additional_special_tokens": [text for text in controls if text not in named],
        "model_max_length": max_positions,
        "clean_up_tokenization_spaces": False,
    }
