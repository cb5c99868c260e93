"""What ships in the package: made by code, right, free of overlap, the same everywhere."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import jinja2
import pytest
from backend.tools.shipped_data import (
    CHAT_TEMPLATE,
    MARKUP_TOKENS,
    SPECIAL_TOKENS,
    VOCAB_SIZE,
    regenerate_shipped_data,
    shipped_files,
)
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tunix_rt.base.assets import (
    ASSETS_DIR,
    shipped_dataset_names,
    shipped_evalset_names,
    shipped_evalset_path,
    shipped_tokenizer_dir,
    shipped_traces,
)
from tunix_rt.base.errors import NotFoundError
from tunix_rt.datasets.contamination import ContaminationChecker, load_evalsets
from tunix_rt.datasets.evalsets import load_evalset
from tunix_rt.datasets.rows import question_of
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.evalset_report import validate_evalset
from tunix_rt.problems.demo_arithmetic import (
    DEMO_DATASET,
    NUM_HELD_OUT_ITEMS,
    NUM_TRAIN_TRACES,
    worked_question,
)
from tunix_rt.traces.linter.findings import CODES
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.types import Trace, canonical_json, normalised_prompt

REPOSITORY = Path(__file__).parents[3]


def traces_of(dataset: str) -> list[Trace]:
    return [Trace.model_validate_json(line) for line in shipped_traces(dataset)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(shipped_tokenizer_dir("tiny") / "tokenizer.json"))


def test_every_shipped_file_is_what_the_code_makes() -> None:
    made = dict(shipped_files())
    written_by_hand = ("models", "recipes", "rubrics")
    made_dirs = [path for path in ASSETS_DIR.iterdir() if path.name not in written_by_hand]
    shipped = [path for directory in made_dirs for path in directory.rglob("*") if path.is_file()]
    assert {path.relative_to(ASSETS_DIR).as_posix() for path in shipped} == {*made, "evalsets/eval_v2.jsonl"}
    for relative, text in made.items():
        assert (ASSETS_DIR / relative).read_bytes() == text.encode("utf-8"), f"{relative} is stale"


def test_regenerating_writes_all_files_once_and_then_nothing(tmp_path: Path) -> None:
    assert len(regenerate_shipped_data(tmp_path)) == len(dict(shipped_files()))
    assert regenerate_shipped_data(tmp_path) == []


def test_the_eval_set_of_the_documented_commands_is_the_shipped_one() -> None:
    committed = REPOSITORY / "training" / "evalsets" / "eval_v2.jsonl"
    assert committed.read_bytes() == shipped_evalset_path("eval_v2").read_bytes()


def test_shipped_files_stay_below_a_megabyte() -> None:
    assert max(path.stat().st_size for path in ASSETS_DIR.rglob("*")) < 1_000_000


def test_an_unknown_name_is_met_with_the_known_ones() -> None:
    with pytest.raises(NotFoundError, match="demo_arithmetic_heldout, eval_v2"):
        shipped_evalset_path("../../../etc/passwd")


@pytest.mark.parametrize("dataset", shipped_dataset_names())
def test_every_shipped_trace_is_canonical_distinct_and_right(dataset: str) -> None:
    traces = traces_of(dataset)
    assert [canonical_json(trace) for trace in traces] == list(shipped_traces(dataset))
    assert len({normalised_prompt(trace.prompt) for trace in traces}) == len(traces)
    for trace in traces:
        errors = [f for f in lint_trace(trace).findings if CODES[f.code].severity == "error"]
        assert errors == [], trace.prompt


def test_dev_reasoning_has_the_promised_mix() -> None:
    traces = traces_of("dev-reasoning-v2")
    assert Counter(trace.meta["category"] for trace in traces) == {
        "reasoning": 385,
        "synthetic": 110,
        "golden_style": 35,
        "edge_case": 20,
    }
    assert len({trace.meta["generator"] for trace in traces}) >= 100
    reasoning = [trace for trace in traces if trace.meta["category"] == "reasoning"]
    assert min(len(trace.steps) for trace in reasoning) >= 2


@pytest.mark.parametrize("name", shipped_evalset_names())
def test_shipped_eval_sets_are_valid_and_share_no_question_with_the_datasets(name: str) -> None:
    prompts = {dataset: [t.prompt for t in traces_of(dataset)] for dataset in shipped_dataset_names()}
    report = validate_evalset(shipped_evalset_path(name), dataset_prompts=prompts)
    assert report.is_valid, report.problems


@pytest.mark.parametrize("dataset", shipped_dataset_names())
def test_no_shipped_trace_repeats_an_eval_question_even_nearly(dataset: str, tmp_path: Path) -> None:
    checker = ContaminationChecker(load_evalsets(tmp_path))
    matches = [checker.match(question_of(trace.prompt)) for trace in traces_of(dataset)]
    assert [match for match in matches if match] == []


def test_eval_v2_is_balanced() -> None:
    report = validate_evalset(shipped_evalset_path("eval_v2"))
    assert report.sections == {"core": 60, "trace_sensitive": 25, "edge_case": 15}
    assert min(report.difficulties.values()) >= 25
    assert set(report.categories) >= {
        "arithmetic", "word_problem", "geometry", "formatting", "knowledge", "conversion",
        "number_theory", "pattern", "statistics", "probability", "algebra",
    }  # fmt: skip
    assert [item.id for item in load_evalset(shipped_evalset_path("eval_v2"))] == [
        f"eval-v2-{number:03d}" for number in range(1, 101)
    ]


def operands(prompt: str) -> tuple[int, int]:
    _, _, left, _, right = prompt.rstrip("?").split()
    return int(left), int(right)


def test_no_pair_of_operands_of_the_demo_is_both_trained_and_held_out() -> None:
    trained = [operands(trace.prompt) for trace in traces_of(DEMO_DATASET)]
    held_out = [operands(item.prompt) for item in demo_items()]
    assert (len(trained), len(held_out)) == (NUM_TRAIN_TRACES, NUM_HELD_OUT_ITEMS)
    assert set(trained).isdisjoint(held_out)


def test_demo_training_shows_every_step_of_the_held_out_questions_often() -> None:
    shown = Counter(step.content for trace in traces_of(DEMO_DATASET) for step in trace.steps)
    for item in demo_items():
        left, right = operands(item.prompt)
        ones, tens, whole = (text for _, text in worked_question((left, item.prompt.split()[3], right)).steps)
        assert min(shown[ones], shown[tens]) >= 8, item.prompt
        assert shown[whole] == 0


def test_demo_answers_agree_with_python() -> None:
    for item in demo_items():
        left, right = operands(item.prompt)
        assert int(item.expected_answer) == (left + right if "+" in item.prompt else left - right)


def demo_items() -> tuple[EvalItem, ...]:
    return load_evalset(shipped_evalset_path("demo_arithmetic_heldout"))


def test_the_tokenizer_has_the_promised_size_and_tokens(tokenizer: Tokenizer) -> None:
    assert tokenizer.get_vocab_size() == VOCAB_SIZE
    for token in SPECIAL_TOKENS + MARKUP_TOKENS:
        assert tokenizer.encode(token).tokens == [token]


def test_training_the_tokenizer_again_in_another_process_gives_the_same_bytes() -> None:
    code = (
        "import sys; from backend.tools.shipped_data import shipped_files; "
        "sys.stdout.buffer.write(dict(shipped_files())['tokenizers/tiny/tokenizer.json'].encode())"
    )
    environment = {"PYTHONHASHSEED": "7", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=environment, cwd=REPOSITORY
    )
    assert other.stdout == (shipped_tokenizer_dir("tiny") / "tokenizer.json").read_bytes()


@given(text=st.text())
def test_any_text_survives_the_tokenizer(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text


def test_digits_are_single_tokens(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("1234567890").tokens == list("1234567890")


def test_decoding_keeps_the_answer_markup_and_drops_control_tokens(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("<bos><reasoning>ok</reasoning>\n<answer>4</answer><end_of_turn>").ids
    assert tokenizer.decode(ids) == "<reasoning>ok</reasoning>\n<answer>4</answer>"


def rendered(messages: list[dict[str, str]], *, add_generation_prompt: bool = False) -> str:
    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    # As Hugging Face compiles chat templates.
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = refuse
    template = environment.from_string(CHAT_TEMPLATE)
    return template.render(messages=messages, bos_token="<bos>", add_generation_prompt=add_generation_prompt)


def test_the_chat_template_ends_each_turn_and_opens_the_models() -> None:
    user = {"role": "user", "content": "Hi"}
    model = {"role": "assistant", "content": "Yes"}
    prompt = rendered([user], add_generation_prompt=True)
    assert prompt == "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n"
    assert rendered([user, model]) == prompt + "Yes<end_of_turn>\n"


def test_the_chat_template_folds_a_system_message_into_the_first_user_turn() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert rendered(messages) == "<bos><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n"


@pytest.mark.parametrize("roles", [["assistant"], ["user", "user"], ["user", "tool"], ["user", "system"]])
def test_the_chat_template_refuses_turns_it_cannot_show(roles: list[str]) -> None:
    with pytest.raises(jinja2.TemplateError, match="alternate"):
        rendered([{"role": role, "content": "x"} for role in roles])
