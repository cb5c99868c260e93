"""What is wrong with encoded examples, per example and over a dataset."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tunix_rt.core.xray import Severity, XrayFinding
from tunix_rt.tokenization.encoding import PARTS, EncodedExample, FindingCode, TokenPart

MAX_EXAMPLES_NAMED = 5


class _Meaning(NamedTuple):
    severity: Severity
    message: str
    next_step: str


MEANINGS: Mapping[FindingCode, _Meaning] = {
    "markup-in-content": _Meaning(
        "error",
        "a step or the answer holds the markup itself, so the trace cannot be rendered",
        "Remove the markup from these traces, or choose another --markup style.",
    ),
    "template-without-generation-prompt": _Meaning(
        "error",
        "the template writes no generation prompt, so generation would begin from another text than training",
        "Choose another --template, or add a generation prompt to this one (docs/templates.md).",
    ),
    "template-changes-content": _Meaning(
        "error",
        "the template changes the prompt or the completion; the answer cannot be found in its text",
        "Choose another --template or --markup style.",
    ),
    "zero-loss-examples": _Meaning(
        "error",
        "no token carries loss: the model learns nothing from these",
        "Check --template and --row-length.",
    ),
    "answer-not-trained": _Meaning(
        "error",
        "the answer carries no loss: the model never learns to give it",
        "Train on completions; if the answers are cut off, use a longer --row-length.",
    ),
    "prompt-trained": _Meaning(
        "error",
        "the prompt carries loss: the model learns to write questions",
        "Train on completions only, as Tunix RT does.",
    ),
    "overlong-examples": _Meaning(
        "error",
        "longer than the row; training refuses them unless told to drop them",
        "Use a longer --row-length, or train with overlong: drop.",
    ),
    "truncated-answers": _Meaning(
        "error",
        "the row ends before the answer does",
        "Use a longer --row-length, or train with overlong: drop.",
    ),
    "end-of-turn-not-trained": _Meaning(
        "error",
        "no end-of-turn token is trained: the model never learns to stop",
        "Choose a --template that ends turns with a control token of this tokenizer; if rows cut it off, "
        "use a longer --row-length.",
    ),
    "special-token-in-content": _Meaning(
        "warning",
        "the content quotes a control token; it is encoded as letters, never as the token",
        "Remove it if it is a leftover of another template.",
    ),
    "template-adds-text": _Meaning(
        "info",
        "the template writes text of its own at the start of the completion, which is trained too",
        "Nothing, if the model expects it; otherwise choose another --template or --markup style.",
    ),
}
"""Every code, in the order in which findings are shown."""


def findings_of(example: EncodedExample, row_length: int | None) -> set[FindingCode]:
    """What is wrong with one example whose mask may be foreign, seen through a row of this length."""
    found = set(example.problems)
    trained = example.parts[:row_length][example.loss_mask[:row_length] == 1]
    is_trained = np.bincount(trained, minlength=len(PARTS)) > 0
    if not is_trained.any():
        found.add("zero-loss-examples")
    if not is_trained[_code("answer")]:
        found.add("answer-not-trained")
    if is_trained[_code("prompt")]:
        found.add("prompt-trained")
    if not is_trained[_code("end_of_turn")]:
        found.add("end-of-turn-not-trained")
    if row_length is not None and len(example) > row_length:
        found.add("overlong-examples")
        if (example.parts[row_length:] == _code("answer")).any():
            found.add("truncated-answers")
    return found


def summarise(
    positions_by_code: Mapping[FindingCode, list[int]], num_examples: int
) -> tuple[XrayFinding, ...]:
    """One finding a code, with how many examples it concerns and the first of them."""
    return tuple(
        XrayFinding(
            code=code,
            severity=meaning.severity,
            count=len(positions),
            share=len(positions) / num_examples,
            message=meaning.message,
            next_step=meaning.next_step,
            examples=tuple(positions[:MAX_EXAMPLES_NAMED]),
        )
        for code, meaning in MEANINGS.items()
        if (positions := positions_by_code.get(code, []))
    )


def _code(part: TokenPart) -> int:
    return PARTS.index(part)
