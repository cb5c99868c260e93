"""Text that would break the markup around it, and prompts that give the answer away."""

import re

_UNSAFE = re.compile(
    r"<(?![<\d(])"  # not the start of `<<48/2=24>>`
    r"(?:/?\s*(?:reasoning|answer|think|thinking|final_answer)\s*/?>"
    r"|\|[^|<>\s]{1,40}\|>|(?:start|end)_of_turn>|/?s>|(?:bos|eos|pad|unk)>)",
    re.IGNORECASE,
)
_LEAK = re.compile(
    r"(?:\b(?:answer|solution)\s*(?:is|was|=|:)\s*|####\s*|\\boxed\{\s*|<answer>\s*)[$€£]?\s*", re.IGNORECASE
)
_LEAK_MARKS = ("answer", "solution", "####", "boxed")


def unsafe_tags(text: str) -> list[tuple[int, int]]:
    """Where the text has tags of the reasoning markup or of chat templates."""
    return [match.span() for match in _UNSAFE.finditer(text)] if "<" in text else []


def leaked_answer(prompt: str, final_answer: str) -> tuple[int, int] | None:
    """Where the prompt says what the answer is; None when it does not.

    Example:
        prompt "… The answer is 72.", answer "72" -> the span of "72"
    """
    lowered = prompt.lower()
    if not any([mark in lowered for mark in _LEAK_MARKS]) or len(lowered) != len(prompt):
        return None
    answer = final_answer.strip().lower()
    for match in _LEAK.finditer(prompt):
        end = match.end() + len(answer)
        if lowered.startswith(answer, match.end()) and not lowered[end : end + 1].isalnum():
            return match.end(), end
    return None
