"""Alpaca rows, and the two record formats that this project exports for training."""

from typing import Any

from tunix_rt.core.formats.export import GEMMA_END, GEMMA_MODEL, GEMMA_USER
from tunix_rt.core.formats.messages import folded
from tunix_rt.core.formats.rows import (
    Row,
    RowError,
    Solution,
    metadata_of,
    optional_text_of,
    rest_of,
    solved,
    text_of,
)
from tunix_rt.core.formats.solutions import split_solution
from tunix_rt.core.trace import Trace, trace_from_text_steps


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
    return solved(folded(system, prompt), split_solution(text_of(row, "output")), meta)


def trace_from_training_example(row: Row) -> Trace:
    """`{"id", "prompt", "response", "metadata"}`; the id is dropped, since content gives a trace its id."""
    meta = {**rest_of(row, ["id", "prompt", "response", "metadata"]), **metadata_of(row, "metadata")}
    return _recorded(text_of(row, "prompt"), split_solution(text_of(row, "response")), meta)


def trace_from_tunix_sft(row: Row) -> Trace:
    """`{"id", "prompts", "final_answer", "metadata"}` where `prompts` is one Gemma user and model turn."""
    prompt, completion = _gemma_turns(text_of(row, "prompts"))
    solution = split_solution(completion)
    answer = text_of(row, "final_answer")
    if solution.final_answer != answer.strip():
        raise RowError(f"'final_answer' is {answer!r}, but the model turn answers {solution.final_answer!r}")
    meta = {**rest_of(row, ["id", "prompts", "final_answer", "metadata"]), **metadata_of(row, "metadata")}
    return _recorded(prompt, solution, meta)


def _recorded(prompt: str, solution: Solution, meta: dict[str, Any]) -> Trace:
    """The trace that was exported: our own markup is no guess, so no answer rule is added to its meta."""
    if solution.rule == "tags":
        return trace_from_text_steps(prompt, solution.steps, solution.final_answer, meta)
    return solved(prompt, solution, meta)


def _gemma_turns(chat: str) -> tuple[str, str]:
    prompt, found, completion = chat.partition(GEMMA_MODEL)
    if not found or not prompt.startswith(GEMMA_USER):
        raise RowError("'prompts' must be a Gemma user turn followed by a model turn with the reasoning")
    completion = completion.rstrip().removesuffix(GEMMA_END)
    if "<start_of_turn>" in completion:
        raise RowError("more than one exchange; give one row for each")
    return prompt.removeprefix(GEMMA_USER), completion
