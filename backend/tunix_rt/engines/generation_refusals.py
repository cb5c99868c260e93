"""Prompts that get no completion, each with the reason."""

from tunix_rt.core.evaluation.prediction import FailureCode
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.generation import Prompt, Written


def refused(prompt: Prompt, architecture: Architecture) -> Written | None:
    """The failure of a prompt that the model cannot read; None when it can."""
    num_tokens, vocab_size = len(prompt.token_ids), architecture.vocab_size
    if num_tokens == 0:
        return _failure(prompt, "prompt-refused", "The prompt has no tokens.")
    if max(prompt.token_ids) >= vocab_size:
        detail = f"The prompt holds the id {max(prompt.token_ids)}; the model has {vocab_size} tokens."
        return _failure(prompt, "prompt-refused", detail)
    if num_tokens >= architecture.max_positions:
        most = architecture.max_positions
        detail = f"The prompt has {num_tokens} tokens; with an answer the model takes {most}."
        return _failure(prompt, "prompt-too-long", detail)
    return None


def out_of_memory(prompt: Prompt, num_slots: int) -> Written:
    """The failure of a prompt for which the device has no memory."""
    detail = f"The device has no memory for one row of {num_slots} tokens; lower max_new_tokens."
    return _failure(prompt, "out-of-memory", detail)


def _failure(prompt: Prompt, code: FailureCode, detail: str) -> Written:
    return Written(prompt, failure=code, detail=detail)
