r"""Stop strings and reasoning/answer told apart while streaming.

<reasoning>\n6*7=42\n</reasoning>\n<answer>42</answer>   ->   reasoning "6*7=42", content "42"

The markup decides, and a piece may end anywhere, in the middle of a tag too. Marks, and white space beside
them, belong to neither part. A text without marks is content, untouched, in the styles that begin with a tag;
in the others everything before the mark of the answer is reasoning.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tunix_rt.traces.types import MARKUPS, MarkupStyle


def partial_mark_length(text: str, marks: Iterable[str]) -> int:
    """How many characters at the end of `text` may yet become one of the marks.

    Example:
        "6*7=42 <ans", ["<answer>"] -> 4
    """
    longest = max((len(mark) for mark in marks), default=0) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(mark.startswith(text[-size:]) and len(mark) > size for mark in marks):
            return size
    return 0


class StopFinder:
    """Lets a text through up to the first stop, which is dropped with all that follows.

    The first is the one that is complete first: so it never matters in which pieces the text comes.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Take texts that are not empty; without any, everything goes through."""
        self._stops = stops
        self._held = ""
        self.has_stopped = False

    def feed(self, text: str) -> str:
        """The text that certainly comes before any stop."""
        if self.has_stopped:
            return ""
        text = self._held + text
        found = [(start + len(stop), start) for stop in self._stops if (start := text.find(stop)) >= 0]
        if found:
            self.has_stopped, self._held = True, ""
            return text[: min(found)[1]]
        num_sure = len(text) - partial_mark_length(text, self._stops)
        self._held = text[num_sure:]
        return text[:num_sure]

    def finish(self) -> str:
        """What was held back and has not become a stop."""
        held, self._held = self._held, ""
        return held


PartKind = Literal["reasoning", "content"]


class CompletionPart(NamedTuple):
    """Some more text of a part."""

    kind: PartKind
    text: str


@dataclass(frozen=True)
class _Marks:
    first: PartKind
    """What a completion begins with."""
    begins: Mapping[str, PartKind]
    """By mark: what begins behind it."""
    is_braced: bool = False
    """Whether the answer ends at the brace that closes its mark."""


_REASONING = _Marks(
    "content",
    {
        "<reasoning>": "reasoning",
        "</reasoning>": "content",
        "<answer>": "content",
        "</answer>": "content",
    },
)
_MARKS: Mapping[MarkupStyle, _Marks] = {
    "reasoning": _REASONING,
    "counted": _REASONING,
    "think": _Marks("content", {"<think>": "reasoning", "</think>": "content"}),
    "boxed": _Marks("reasoning", {"\\boxed{": "content"}, is_braced=True),
    "hash": _Marks("reasoning", {"####": "content"}),
}
assert all(set(_MARKS[style].begins) == set(MARKUPS[style].reserved) for style in MARKUPS)


def starts_in_reasoning(prompt: str, style: MarkupStyle) -> bool:
    r"""Whether the chat template has written the opening tag already.

    Example:
        "…<|im_start|>assistant\n<think>\n", "think" -> True
    """
    opening = MARKUPS[style].before_reasoning.strip()
    return bool(opening) and prompt.rstrip().endswith(opening)


class CompletionSplitter:
    """Takes a completion in pieces and gives its parts in pieces."""

    def __init__(self, style: MarkupStyle, *, is_in_reasoning: bool = False) -> None:
        """Begin a completion; `is_in_reasoning` when the prompt ends with the opening tag."""
        self._marks = _MARKS[style]
        self._pattern = re.compile("|".join(map(re.escape, self._marks.begins)))
        self._kind: PartKind = "reasoning" if is_in_reasoning else self._marks.first
        self._held = ""
        self._space = ""
        self._is_after_mark = is_in_reasoning
        self._depth = 0
        self._is_escaped = False
        self._parts: list[CompletionPart] = []

    def feed(self, text: str) -> list[CompletionPart]:
        """Whatever is certain after this piece."""
        self._held += text
        while self._next_mark():
            pass
        return self._take_parts()

    def finish(self) -> list[CompletionPart]:
        """What was held back, now that nothing follows."""
        self._emit(self._held)
        if self._space:
            self._parts.append(CompletionPart(self._kind, self._space))
        self._held = self._space = ""
        return self._take_parts()

    def _next_mark(self) -> bool:
        """Pass on what stands before the next mark, and the mark itself, if there is one."""
        if self._depth:
            return self._read_braced()
        found = self._pattern.search(self._held)
        if found is None:
            num_sure = len(self._held) - partial_mark_length(self._held, self._marks.begins)
            self._emit(self._held[:num_sure])
            self._held = self._held[num_sure:]
            return False
        self._emit(self._held[: found.start()])
        self._held = self._held[found.end() :]
        self._begin(self._marks.begins[found.group()])
        self._depth = 1 if self._marks.is_braced else 0
        return True

    def _read_braced(self) -> bool:
        r"""Pass on what is inside the braces; they may nest, and `\}` is none."""
        for place, character in enumerate(self._held):
            if self._is_escaped or character == "\\":
                self._is_escaped = not self._is_escaped
                continue
            self._depth += (character == "{") - (character == "}")
            if not self._depth:
                self._emit(self._held[:place])
                self._held = self._held[place + 1 :]
                self._begin("content")
                return True
        self._emit(self._held)
        self._held = ""
        return False

    def _begin(self, kind: PartKind) -> None:
        self._kind, self._space, self._is_after_mark = kind, "", True

    def _emit(self, text: str) -> None:
        """Pass text on, without white space behind a mark, and keeping back what may stand before one."""
        if self._is_after_mark:
            text = text.lstrip()
        if not text:
            return
        self._is_after_mark = False
        text = self._space + text
        shown = text.rstrip()
        self._space = text[len(shown) :]
        if shown:
            self._parts.append(CompletionPart(self._kind, shown))

    def _take_parts(self) -> list[CompletionPart]:
        taken, self._parts = self._parts, []
        return taken
