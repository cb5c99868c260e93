"""The datasets, eval sets and tokenizer that ship in the package, made from the code: `make data`.

The edge cases of dev-reasoning-v2 and the questions of eval_v2 are written by hand: there, the shipped file
is the source. Everything else is generated, and a test compares each byte.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from tunix_rt.base.assets import ASSETS_DIR, TRACES_FILE, shipped_traces
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.datasets.types import EvalItem, item_json
from tunix_rt.problems.demo_arithmetic import DEMO_DATASET, DEMO_EVALSET, demo_held_out_items, demo_traces
from tunix_rt.problems.family import Category
from tunix_rt.problems.generate import FAMILIES, generate
from tunix_rt.traces.types import Trace, canonical_json

DEV_DATASET = "dev-reasoning-v2"
DEV_SEED = 42
# With the 20 edge cases: 70 % reasoning, 20 % synthetic, 10 % golden-style and edge cases.
_GENERATED: tuple[tuple[Category, int], ...] = (("reasoning", 385), ("synthetic", 110), ("golden_style", 35))

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


def dev_reasoning_traces() -> Iterator[Trace]:
    """The generated traces by category, each prompt once; then the edge cases."""
    for category, count in _GENERATED:
        names = [family.name for family in FAMILIES.values() if family.category == category]
        yield from generate(names, count, DEV_SEED, source=DEV_DATASET)
    shipped = (Trace.model_validate_json(line) for line in shipped_traces(DEV_DATASET))
    yield from (trace for trace in shipped if trace.meta["category"] == "edge_case")


def shipped_files() -> Iterator[tuple[str, str]]:
    """(path inside the assets directory, text) of each generated file."""
    dev, demo = list(dev_reasoning_traces()), list(demo_traces())
    yield f"datasets/{DEV_DATASET}/{TRACES_FILE}", _traces_text(dev)
    yield f"datasets/{DEMO_DATASET}/{TRACES_FILE}", _traces_text(demo)
    yield f"evalsets/{DEMO_EVALSET}.jsonl", _items_text(demo_held_out_items())
    yield "tokenizers/tiny/tokenizer.json", train_tiny_tokenizer(dev + demo).to_str(pretty=True) + "\n"
    yield "tokenizers/tiny/tokenizer_config.json", tokenizer_config_json()


def regenerate_shipped_data(assets_dir: Path = ASSETS_DIR) -> list[Path]:
    """Write every generated file; returns the paths whose content changed."""
    files = [(assets_dir / relative, text) for relative, text in shipped_files()]
    return [path for path, text in files if _write_if_changed(path, text.encode("utf-8"))]


def _write_if_changed(path: Path, data: bytes) -> bool:
    if path.is_file() and path.read_bytes() == data:
        return False
    with write_atomically(path, what="writing the shipped data") as file:
        file.write(data)
    return True


def _traces_text(traces: Iterable[Trace]) -> str:
    return "".join(canonical_json(trace) + "\n" for trace in traces)


def _items_text(items: Iterable[EvalItem]) -> str:
    return "".join(item_json(item) + "\n" for item in items)


if __name__ == "__main__":
    regenerate_shipped_data()
