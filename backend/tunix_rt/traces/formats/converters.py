"""Chat, Alpaca, GSM8K and free-column rows to traces.

A trace is one exchange. `[system] user assistant` is accepted: the system text and a blank line are prepended
to the prompt (`meta.system_folded`); a longer conversation is rejected because a trace cannot represent it.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.traces.formats.export import GEMMA_END, GEMMA_MODEL, GEMMA_USER
from tunix_rt.traces.formats.solutions import (
    Row,
    RowError,
    Solution,
    kind_of,
    metadata_of,
    optional_text_of,
    parsed_json,
    rest_of,
    solution_with_reasoning,
    split_solution,
    split_steps,
    text_of,
    trace_from_solution,
)
from tunix_rt.traces.types import Trace, TraceStep, trace_from_text_steps

ColumnMap = Mapping[str, str]
"""Maps a field of the trace (one of `FIELDS`, or `meta.NAME`) to a column of the row."""

FIELDS = ("prompt", "steps", "final_answer", "completion")
KNOWN_FIELDS = (*FIELDS, "meta.NAME")
TRACE_COLUMNS: ColumnMap = {"prompt": "prompt", "steps": "steps", "final_answer": "final_answer"}
META_PREFIX = "meta."
_JSON_LIST = re.compile(r"""\s*\[\s*["{]""")


def parse_column_map(pairs: Iterable[str]) -> dict[str, str]:
    """Parse `FIELD=COLUMN` pairs into a column map.

    Example:
        ["prompt=question", "completion=solution"] -> {"prompt": "question", "completion": "solution"}

    Raises:
        InvalidInputError: A pair has no `=`, names an unknown field, or the map does not cover a whole trace.
    """
    column_map: dict[str, str] = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        is_field = name in FIELDS or (name.startswith(META_PREFIX) and name != META_PREFIX)
        if not equals or not column or not is_field or name in column_map:
            raise InvalidInputError(
                f"Cannot use the column map entry {pair!r}.",
                next_step=f"Write FIELD=COLUMN, each field once. {did_you_mean(name, KNOWN_FIELDS)}",
            )
        column_map[name] = column
    fields = set(FIELDS) & column_map.keys()
    if column_map and fields not in ({"prompt", "completion"}, {"prompt", "steps", "final_answer"}):
        raise InvalidInputError(
            f"The column map gives only {', '.join(sorted(fields)) or 'meta'}, which is not a whole trace.",
            next_step="Map prompt and completion, or prompt, steps and final_answer.",
        )
    return column_map


def require_columns(column_map: ColumnMap, columns: Iterable[str]) -> None:
    """Reject a map with a column that the table does not have."""
    present = list(columns)
    for column in column_map.values():
        if column not in present:
            raise InvalidInputError(
                f"There is no column {column!r}; the columns are {', '.join(present)}.",
                next_step=did_you_mean(column, present),
            )


def trace_from_columns(row: Row, column_map: ColumnMap) -> Trace:
    """Convert the mapped columns to a trace; other columns go to `meta`."""
    prompt = text_of(row, column_map["prompt"])
    meta = rest_of(row, list(column_map.values()))
    for name, column in column_map.items():
        if name.startswith(META_PREFIX) and row.get(column) not in (None, ""):
            meta[name.removeprefix(META_PREFIX)] = row[column]
    if "completion" in column_map:
        return trace_from_solution(prompt, split_solution(text_of(row, column_map["completion"])), meta)
    number = row.get(column_map["final_answer"])
    is_number = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
    answer = str(number) if is_number else text_of(row, column_map["final_answer"])
    column = column_map["steps"]
    steps = row.get(column)
    if isinstance(steps, str):
        # A JSON list as text, as in tables, or text to split.
        steps = parsed_json(steps, column) if _JSON_LIST.match(steps) else split_steps(steps)
    if not isinstance(steps, list):
        raise RowError(f"{column!r} must be a list of steps or text, not {kind_of(steps)}")
    if not steps:
        raise RowError(f"{column!r} is empty")
    if all(isinstance(step, str) for step in steps):
        return trace_from_solution(prompt, Solution([str(step) for step in steps], answer, "column"), meta)
    typed = tuple(TraceStep.model_validate(step) for step in steps)
    return Trace(prompt=prompt, steps=typed, final_answer=answer, meta={**meta, "answer_rule": "column"})


_ANNOTATION = re.compile(r"<<[^<>]*>>")
_ANSWER_MARK = "####"


def trace_from_gsm8k(row: Mapping[str, Any], *, keep_annotations: bool) -> Trace:
    r"""Convert a GSM8K row to a trace.

    Args:
        row: has `question` and `answer`.
        keep_annotations: keep the `<<48/2=24>>` calculator annotations in the steps.

    Raises:
        ValueError: the row is not in this format; the message says why.

    Example:
        answer "48/2 = <<48/2=24>>24\n#### 24" -> one step "48/2 = 24", final answer "24"
    """
    question, answer = _text(row, "question"), _text(row, "answer")
    work, mark, final_answer = answer.rpartition(_ANSWER_MARK)
    if not mark:
        raise ValueError(f"answer has no '{_ANSWER_MARK}' line with the final answer")
    if not keep_annotations:
        work = without_annotations(work)
    steps = [line.strip() for line in work.splitlines() if line.strip()]
    if not steps:
        raise ValueError(f"answer has no steps before '{_ANSWER_MARK}'")
    final_answer = final_answer.strip().replace(",", "")
    if not final_answer:
        raise ValueError(f"answer has nothing after '{_ANSWER_MARK}'")
    return trace_from_text_steps(question, steps, final_answer, {"source": "gsm8k"})


def without_annotations(text: str) -> str:
    """The text without its `<<…>>` calculator annotations."""
    return _ANNOTATION.sub("", text)


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} is missing or is not text")
    return value


ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
}
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
MESSAGE_KEYS = ("role", "content", *REASONING_KEYS)


def trace_from_messages(row: Row) -> Trace:
    """`{"messages": [{"role", "content"}, …]}`, with `reasoning_content` and lists of text parts."""
    prompt, solution = _one_exchange(_messages_under(row, "messages"))
    return trace_from_solution(prompt, solution, rest_of(row, ["messages"]))


def trace_from_sharegpt(row: Row) -> Trace:
    """`{"conversations": [{"from", "value"}, …]}`, optionally with a `system` text."""
    turns = row.get("conversations")
    if not isinstance(turns, list):
        raise RowError(f"'conversations' must be a list, not {kind_of(turns)}")
    messages: list[dict[str, Any]] = []
    for turn in turns:
        if not isinstance(turn, dict):
            raise RowError(f"a turn of 'conversations' must be an object, not {kind_of(turn)}")
        if extra := rest_of(turn, ["from", "value"]):
            raise RowError(f"a turn has {next(iter(extra))!r}, which a trace cannot hold")
        messages.append({"role": turn.get("from"), "content": turn.get("value")})
    if system := optional_text_of(row, "system"):
        messages.insert(0, {"role": "system", "content": system})
    prompt, solution = _one_exchange(messages)
    return trace_from_solution(prompt, solution, rest_of(row, ["conversations", "system"]))


def trace_from_prompt_completion(row: Row) -> Trace:
    """`{"prompt", "completion"}`, each a text or a list of messages."""
    if isinstance(row.get("prompt"), list):
        messages = _messages_under(row, "prompt") + _messages_under(row, "completion")
        prompt, solution = _one_exchange(messages)
    else:
        prompt, solution = text_of(row, "prompt"), split_solution(text_of(row, "completion"))
    return trace_from_solution(prompt, solution, rest_of(row, ["prompt", "completion"]))


def with_system_text(system: str, prompt: str) -> str:
    """The system text above the prompt, with a blank line between."""
    return f"{system}\n\n{prompt}" if system else prompt


def _messages_under(row: Row, key: str) -> list[dict[str, Any]]:
    messages = row.get(key)
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise RowError(f"{key!r} must be a list of messages")
    return list(messages)


def _one_exchange(messages: list[dict[str, Any]]) -> tuple[str, Solution]:
    roles = [_role_of(message) for message in messages]
    if roles.count("assistant") > 1 or roles.count("user") > 1:
        raise RowError(
            f"more than one exchange ({len(roles)} messages); give one row for each question and its reply"
        )
    if roles not in (["user", "assistant"], ["system", "user", "assistant"]):
        raise RowError(f"must be [system] user assistant, but is {' '.join(roles) or 'empty'}")
    system = _content_of(messages[0]) if roles[0] == "system" else ""
    prompt, reply = _content_of(messages[-2]), messages[-1]
    reasonings = [key for key in REASONING_KEYS if reply.get(key)]
    if len(reasonings) > 1:
        raise RowError(f"a message has both {reasonings[0]!r} and {reasonings[1]!r}")
    reasoning = optional_text_of(reply, reasonings[0]) if reasonings else ""
    solution = solution_with_reasoning(reasoning, _content_of(reply))
    if not system.strip():
        return prompt, solution
    return with_system_text(system, prompt), replace(solution, notes={"system_folded": True})


def _role_of(message: dict[str, Any]) -> str:
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise RowError(f"role {role!r} cannot be part of a trace; known: {', '.join(ROLES)}")
    if extra := rest_of(message, MESSAGE_KEYS):
        key, value = next(iter(extra.items()))
        if value != []:
            raise RowError(f"a message has {key!r}, which a trace cannot hold")
    return ROLES[role]


def _content_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise RowError(f"the {message['role']} message must be text, not {kind_of(content)}")
    texts: list[Any] = [
        part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"
    ]
    if len(texts) < len(content) or not all(isinstance(text, str) for text in texts):
        raise RowError("a message has a part that is not text")
    return "".join(texts)


def trace_from_alpaca(row: Row) -> Trace:
    """`{"instruction", "input", "output"}`; a non-empty input follows the instruction after a blank line."""
    if row.get("history"):
        raise RowError("more than one exchange ('history' is not empty); give one row for each")
    prompt, extra_input = text_of(row, "instruction"), optional_text_of(row, "input")
    if extra_input:
        prompt = f"{prompt}\n\n{extra_input}"
    system = optional_text_of(row, "system")
    meta = rest_of(row, ["instruction", "input", "output", "system", "history"])
    if system:
        meta["system_folded"] = True
    return trace_from_solution(with_system_text(system, prompt), split_solution(text_of(row, "output")), meta)


def trace_from_training_example(row: Row) -> Trace:
    """`{"id", "prompt", "response", "metadata"}`; the id is dropped, because it follows from the content."""
    meta = {**rest_of(row, ["id", "prompt", "response", "metadata"]), **metadata_of(row, "metadata")}
    return _recorded(text_of(row, "prompt"), split_solution(text_of(row, "response")), meta)


def trace_from_tunix_sft(row: Row) -> Trace:
    """`{"id", "prompts", "final_answer", "metadata"}` where `prompts` is one Gemma user and model turn."""
    chat = text_of(row, "prompts")
    prompt, separator, completion = chat.partition(GEMMA_MODEL)
    if not separator or not prompt.startswith(GEMMA_USER):
        raise RowError("'prompts' must be a Gemma user turn followed by a model turn with the reasoning")
    completion = completion.rstrip().removesuffix(GEMMA_END)
    if "<start_of_turn>" in completion:
        raise RowError("more than one exchange; give one row for each")
    solution = split_solution(completion)
    answer = text_of(row, "final_answer")
    if solution.final_answer != answer.strip():
        raise RowError(f"'final_answer' is {answer!r}, but the model turn answers {solution.final_answer!r}")
    meta = {**rest_of(row, ["id", "prompts", "final_answer", "metadata"]), **metadata_of(row, "metadata")}
    return _recorded(prompt.removeprefix(GEMMA_USER), solution, meta)


def _recorded(prompt: str, solution: Solution, meta: dict[str, Any]) -> Trace:
    """The exported trace. Tunix RT markup is unambiguous, so no answer rule is added to its meta."""
    if solution.rule == "tags":
        return trace_from_text_steps(prompt, solution.steps, solution.final_answer, meta)
    return trace_from_solution(prompt, solution, meta)
