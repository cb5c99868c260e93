"""A small real tokenizer, trained here, with a choice of chat templates."""

import json
from functools import lru_cache
from pathlib import Path

from tokenizers import Tokenizer as FastTokenizer
from tokenizers import decoders, models, pre_tokenizers, trainers

from tunix_rt.tokenization.chat_template import ChatTemplate, choose_template
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.tokenizer import Tokenizer
from tunix_rt.traces.types import MarkupStyle

CONTROL_TOKENS = ("<pad>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<|im_start|>", "<|im_end|>")
NAMED_TOKENS = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"}

CORPUS = ["What is 6 * 7? <reasoning> six sevens are 42 </reasoning> <answer>42</answer> user model"] * 3


@lru_cache(maxsize=1)
def trained_fast_tokenizer() -> FastTokenizer:
    fast = FastTokenizer(models.BPE())
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=list(CONTROL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    fast.train_from_iterator(CORPUS, trainer)
    return fast


def make_tokenizer(chat_template: str | None = None) -> Tokenizer:
    return Tokenizer("test", trained_fast_tokenizer(), NAMED_TOKENS, chat_template)


def make_encoder(template: str = "gemma", markup: MarkupStyle = "reasoning") -> TraceEncoder:
    """Return an encoder; `template` is the name of a built-in template or Jinja source."""
    tokenizer = make_tokenizer()
    if "{" in template:
        return TraceEncoder(tokenizer, ChatTemplate("test", template, tokenizer.named_tokens), markup)
    return TraceEncoder(tokenizer, choose_template(tokenizer, template), markup)


def write_tokenizer(directory: Path, config: dict[str, object] | None = None) -> Path:
    """Write the files of a tokenizer as Hugging Face libraries do."""
    directory.mkdir(parents=True, exist_ok=True)
    trained_fast_tokenizer().save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text(json.dumps(config or NAMED_TOKENS), encoding="utf-8")
    return directory
