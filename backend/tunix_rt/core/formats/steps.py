"""Reasoning text as steps."""

import re

NUMBERING = re.compile(
    r"\s{0,8}(?:[*_]{2})?(?:step\s{1,4}(\d{1,3})\s{0,4}[.:)\-–—]|\(?(\d{1,3})[.)](?=\s|[*_]{2}))(?:[*_]{2})?\s*",
    re.IGNORECASE,
)
BLANK_LINES = re.compile(r"\n[^\S\n]*\n")


def split_steps(reasoning: str) -> list[str]:
    r"""The steps of a worked text, by the first rule that fits.

    1. Numbered: lines numbered 1, 2, 3, … (`1.`, `2)`, `(3)`, `Step 4:`) each start a step; lines between
       them belong to the step above. The numbers are removed, since a step's position says the same.
    2. Paragraphs: text with blank lines has one step a paragraph.
    3. Lines: otherwise each line is a step.

    Example:
        "1. 6*7=42\n   so 42\n2. 42+1=43" -> ["6*7=42\n   so 42", "42+1=43"]
    """
    numbered = _numbered_steps(reasoning)
    if numbered is not None:
        return numbered
    parts = BLANK_LINES.split(reasoning) if BLANK_LINES.search(reasoning) else reasoning.split("\n")
    return _without_blanks(parts)


def _numbered_steps(text: str) -> list[str] | None:
    """Steps by their numbers; None unless the text has lines numbered 1, 2, … (or 0, 1, …)."""
    blocks: list[list[str]] = [[]]
    expected: int | None = None
    for line in text.split("\n"):
        match = NUMBERING.match(line)
        number = int(match.group(1) or match.group(2)) if match else None
        starts = number == expected if expected is not None else number in (0, 1)
        if match and starts and number is not None:
            blocks.append([line[match.end() :]])
            expected = number + 1
        else:
            blocks[-1].append(line)
    return None if expected is None else _without_blanks(["\n".join(block) for block in blocks])


def _without_blanks(parts: list[str]) -> list[str]:
    return [part.strip() for part in parts if part.strip()]
