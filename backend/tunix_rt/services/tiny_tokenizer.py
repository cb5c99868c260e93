"""The built-in tiny tokenizer: byte-level BPE trained on the shipped traces, with a chat template."""

import json
from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from tunix_rt.core.trace import Trace

VOCAB_SIZE = 1_024
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")
# One token each, but not special: they are text of the answer, so decoding must keep them.
MARKUP_TOKENS = ("<reasoning>", "</reasoning>", "<answer>", "</answer>")
# A digit stands alone, so a number is read the way it is worked. A sign takes the blanks around it (` + `
# is one token), so every digit is the same token wherever it stands.
WORD_PATTERN = r"\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+\s?|\s+"
CHAT_TEMPLATE = """\
{{ bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set folded = messages[0]['content'] + '\\n\\n' %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set folded = '' %}
    {%- set turns = messages %}
{%- endif %}
{%- for turn in turns %}
    {%- if turn['role'] not in ['user', 'assistant'] or (turn['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Turns must alternate user, assistant, …, after at most one system message.') }}
    {%- endif %}
    {{- '<start_of_turn>' + ('model' if turn['role'] == 'assistant' else 'user') + '\\n' }}
    {{- (folded if loop.first else '') + turn['content'] + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\\n' }}
{%- endif %}
"""


def train_tiny_tokenizer(traces: Iterable[Trace]) -> Tokenizer:
    """A tokenizer learned from the traces; the same traces always give the same tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORD_PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE - len(MARKUP_TOKENS),
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(traces), trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False, special=False) for text in MARKUP_TOKENS])
    return tokenizer


def tokenizer_config_json() -> str:
    """`tokenizer_config.json` as Hugging Face libraries read it."""
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "pad_token": "<pad>",
        "additional_special_tokens": ["<start_of_turn>", "<end_of_turn>"],
        "clean_up_tokenization_spaces": False,
        "model_max_length": 2_048,
        "chat_template": CHAT_TEMPLATE,
    }
    return json.dumps(config, ensure_ascii=False, indent=2) + "\n"


def _texts(traces: Iterable[Trace]) -> Iterable[str]:
    for trace in traces:
        yield f"user\n{trace.prompt}"
        yield "model\n" + "\n".join(step.content for step in trace.steps)
        yield trace.final_answer
