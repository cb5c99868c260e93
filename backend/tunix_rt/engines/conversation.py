"""A trace inside its chat template, as text, split where generation would begin.

Control tokens count only where the template put them. Their text inside content (a prompt that quotes
`<end_of_turn>`) is remembered by position, so that it can be encoded as letters.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tunix_rt.base.errors import DataError
from tunix_rt.core.xray import FindingCode
from tunix_rt.engines.chat_template import ChatTemplate
from tunix_rt.traces.completion import Completion, PartSpan, chat_messages, render_completion
from tunix_rt.traces.types import MARKUPS, MarkupStyle, Trace

# Unicode noncharacters: no text that is meant for interchange holds them.
_STAND_IN = re.compile("\ufdd0([0-9]+)\ufdd1")
_NONCHARACTERS = "[\ufdd0\ufdd1]"


@dataclass(frozen=True)
class TemplatedText:
    """Text that a template wrote around content."""

    text: str
    look_alikes: tuple[tuple[int, int], ...] = ()
    """Spans of content that read like control tokens and are none."""


@dataclass(frozen=True)
class Conversation:
    """One trace inside its chat template."""

    prompt: TemplatedText
    """What generation is given."""
    completion: TemplatedText
    """Everything that follows, the end of the turn included."""
    content_end: int
    """Where the rendered trace ends in the completion."""
    spans: tuple[PartSpan, ...]
    """Parts as offsets into the completion; empty when the template changed the content."""
    problems: frozenset[FindingCode]


@dataclass(frozen=True)
class ConversationBuilder:
    """Puts traces into one chat template."""

    template: ChatTemplate
    markup: MarkupStyle
    control_tokens: re.Pattern[str] | None

    def build(self, trace: Trace) -> Conversation:
        """The texts of one trace, split where generation would begin.

        Raises:
            DataError: The trace holds the markup itself, or the template refuses it.
        """
        completion = render_completion(trace, self.markup)
        originals: list[str] = []
        asked = self._with_stand_ins(trace.prompt, originals)
        # Content cannot hold the markup, so what reads like it is ours and may well be a control token.
        written = self._with_stand_ins(completion.text, originals, keep=MARKUPS[self.markup].reserved)
        prompt, rest, problems = self._split(asked, written)
        if any(self._is_control_token(original) for original in originals):
            problems.add("special-token-in-content")
        return _locate_parts(completion, prompt, rest, written, originals, problems)

    def build_prompt(self, prompt: str) -> TemplatedText:
        """What generation is given for a prompt: the same text that training masks."""
        originals: list[str] = []
        return _restored(self._render_prompt(self._with_stand_ins(prompt, originals)), originals)

    def build_messages(self, messages: Sequence[Mapping[str, str]]) -> TemplatedText:
        """What generation is given for a conversation: one question is the same text as `build_prompt`'s.

        Raises:
            DataError: The template refuses the messages, or leaves out one that is not the model's own.
        """
        originals: list[str] = []
        said = [
            {
                **message,
                "content": self._with_stand_ins(
                    message["content"],
                    originals,
                    # What the model wrote itself may hold the markup, which may well be control tokens.
                    keep=MARKUPS[self.markup].reserved if message["role"] == "assistant" else (),
                ),
            }
            for message in messages
        ]
        rendered = self.template.render(said, add_generation_prompt=True)
        for number, message in enumerate(said):
            if message["role"] != "assistant" and message["content"].strip() not in rendered:
                raise DataError(
                    f"The chat template {self.template.name!r} leaves out or changes message {number}, "
                    f"which the {message['role']} wrote.",
                    next_step="Put it into the first user message, or choose another template.",
                )
        return _restored(rendered, originals)

    def build_beginning(self, content: str) -> TemplatedText:
        """What stands between the prompt and the end of `content`, which begins a completion.

        Raises:
            DataError: The template changes the content, or refuses it.
        """
        originals: list[str] = []
        written = self._with_stand_ins(content, originals, keep=MARKUPS[self.markup].reserved)
        _, rest, _ = self._split("?", written)
        before, found, _ = rest.partition(written.strip())
        if written.strip() and not found:
            raise DataError(
                f"The chat template {self.template.name!r} changes what a completion says.",
                next_step="Choose another template; docs/templates.md lists the built-in ones.",
            )
        return _restored(before + written.lstrip(), originals)

    def _render_prompt(self, prompt: str) -> str:
        return self.template.render(chat_messages(prompt), add_generation_prompt=True)

    def _split(self, asked: str, written: str) -> tuple[str, str, set[FindingCode]]:
        """Prompt and completion text, both still with stand-ins, and what is wrong with them."""
        problems: set[FindingCode] = set()
        prompt = self._render_prompt(asked)
        whole = self.template.render(chat_messages(asked, written), add_generation_prompt=False)
        if asked.strip() not in prompt:
            problems.add("template-changes-content")
        if not whole.startswith(prompt):
            before, found, after = whole.rpartition(written.strip())
            return before, found + after, problems | {"template-without-generation-prompt"}
        rest = whole[len(prompt) :]
        before, found, _ = rest.partition(written.strip())
        if found and before.strip():
            is_header = not self.template.reacts_to_generation_prompt
            problems.add("template-without-generation-prompt" if is_header else "template-adds-text")
        return prompt, rest, problems

    def _with_stand_ins(self, content: str, originals: list[str], keep: Collection[str] = ()) -> str:
        """Replace what reads like a control token, so that the template's own can be told from it."""

        def stand_in(match: re.Match[str]) -> str:
            if match.group() in keep:
                return match.group()
            originals.append(match.group())
            return f"\ufdd0{len(originals) - 1}\ufdd1"

        look_alike = _NONCHARACTERS
        if self.control_tokens is not None:
            look_alike += "|" + self.control_tokens.pattern
        return re.sub(look_alike, stand_in, content)

    def _is_control_token(self, text: str) -> bool:
        return self.control_tokens is not None and self.control_tokens.fullmatch(text) is not None


def _locate_parts(
    content: Completion,
    prompt: str,
    rest: str,
    written: str,
    originals: list[str],
    problems: set[FindingCode],
) -> Conversation:
    """Find the rendered trace in the completion; templates may trim it, and may write around it."""
    before, found, _ = rest.partition(written.strip())
    if not found:
        return Conversation(
            prompt=_restored(prompt, originals),
            completion=_restored(rest, originals),
            content_end=0,
            spans=(),
            problems=frozenset(problems | {"template-changes-content"}),
        )
    start = len(_restored(before, originals).text)
    end = start + len(content.text.strip())
    shift = start - (len(content.text) - len(content.text.lstrip()))
    spans = [PartSpan(s.part, max(s.start + shift, start), min(s.end + shift, end)) for s in content.spans]
    return Conversation(
        prompt=_restored(prompt, originals),
        completion=_restored(rest, originals),
        content_end=end,
        spans=tuple(spans),
        problems=frozenset(problems),
    )


def _restored(rendered: str, originals: list[str]) -> TemplatedText:
    """The text with the original content back in place of the stand-ins."""
    if not originals:
        return TemplatedText(rendered)
    text, end = "", 0
    look_alikes: list[tuple[int, int]] = []
    for match in _STAND_IN.finditer(rendered):
        original = originals[int(match.group(1))]
        text += rendered[end : match.start()]
        look_alikes.append((len(text), len(text) + len(original)))
        text += original
        end = match.end()
    return TemplatedText(text + rendered[end:], tuple(look_alikes))
