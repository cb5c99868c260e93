"""A trace as one row of each export format.

Every text format contains the full completion (reasoning and answer with markup), so that no tool trains on
the question alone by accident.
"""

from collections.abc import Callable
from typing import Any

from tunix_rt.base.errors import DataError
from tunix_rt.traces.completion import chat_messages, render_completion
from tunix_rt.traces.types import Trace, canonical_json, trace_id

GEMMA_USER = "<start_of_turn>user\n"
GEMMA_MODEL = "<end_of_turn>\n<start_of_turn>model\n"
GEMMA_END = "<end_of_turn>"
GEMMA_CONTROL_TEXTS = ("<start_of_turn>", "<end_of_turn>")


def messages_row(trace: Trace) -> dict[str, Any]:
    """`{"messages": [user, assistant]}`, as TRL, Axolotl and the OpenAI fine-tuning API read it."""
    return {"messages": chat_messages(trace.prompt, render_completion(trace).text)}


def prompt_completion_row(trace: Trace) -> dict[str, Any]:
    """`{"prompt", "completion"}`, as TRL reads it."""
    return {"prompt": trace.prompt, "completion": render_completion(trace).text}


def sharegpt_row(trace: Trace) -> dict[str, Any]:
    """`{"conversations": [human, gpt]}`."""
    turns = [("human", trace.prompt), ("gpt", render_completion(trace).text)]
    return {"conversations": [{"from": speaker, "value": text} for speaker, text in turns]}


def alpaca_row(trace: Trace) -> dict[str, Any]:
    """`{"instruction", "input", "output"}` with an empty input."""
    return {"instruction": trace.prompt, "input": "", "output": render_completion(trace).text}


def tunix_sft_row(trace: Trace) -> dict[str, Any]:
    """`{"id", "prompts", "final_answer", "metadata"}`; `prompts` is the whole Gemma chat, answer included.

    Raises:
        DataError: The trace holds a Gemma turn marker, which would end its turn early.
    """
    completion = render_completion(trace).text
    for marker in GEMMA_CONTROL_TEXTS:
        if marker in trace.prompt or marker in completion:
            raise DataError(
                f"The trace holds {marker!r}, which ends a turn in the Gemma chat text.",
                next_step="Remove it from the trace, or export it as `messages`.",
            )
    return {
        "id": str(trace_id(canonical_json(trace))),
        "prompts": f"{GEMMA_USER}{trace.prompt}{GEMMA_MODEL}{completion}{GEMMA_END}",
        "final_answer": trace.final_answer,
        "metadata": dict(trace.meta),
    }


def training_example_row(trace: Trace) -> dict[str, Any]:
    """`{"id", "prompt", "response", "metadata"}`; the same trace has the same id in every export."""
    return {
        "id": str(trace_id(canonical_json(trace))),
        "prompt": trace.prompt,
        "response": render_completion(trace).text,
        "metadata": dict(trace.meta),
    }


EXPORT_FORMATS: dict[str, Callable[[Trace], dict[str, Any]]] = {
    # The only format that preserves step types, positions and line breaks in steps.
    "trace": Trace.model_dump,
    "messages": messages_row,
    "prompt_completion": prompt_completion_row,
    "sharegpt": sharegpt_row,
    "alpaca": alpaca_row,
    "tunix_sft": tunix_sft_row,
    "training_example": training_example_row,
}
