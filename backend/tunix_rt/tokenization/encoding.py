r"""A trace inside its template as token ids, with the loss mask and the part of every token.

The JSON of `tunix-rt data xray --json`, the HTTP answer and the HTML page all show this type.

Control tokens count only where the template put them. Their text inside content (a prompt that quotes
`<end_of_turn>`) is remembered by position, so that it can be encoded as letters.

Training, evaluation and serving give the model the same prompt ids. Prompt and completion are tokenised
apart, because generation does so:

    <bos><start_of_turn>user\n6*7?<end_of_turn>\n<start_of_turn>model\n   the prompt: masked
    <reasoning>\n6*7=42\n</reasoning>\n<answer>42</answer><end_of_turn>   the completion: trained
    \n                                                                    what follows it: dropped
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from tunix_rt.base.errors import DataError
from tunix_rt.tokenization.chat_template import ChatTemplate
from tunix_rt.tokenization.tokenizer import Tokenizer
from tunix_rt.traces.completion import Completion, PartSpan, chat_messages, render_completion
from tunix_rt.traces.types import DEFAULT_MARKUP, MARKUPS, MarkupStyle, Trace, trace_from_text_steps

TokenPart = Literal["prompt", "markup", "reasoning", "answer", "end_of_turn", "padding"]

FindingCode = Literal[
    "markup-in-content",
    "template-without-generation-prompt",
    "template-changes-content",
    "template-adds-text",
    "special-token-in-content",
    "zero-loss-examples",
    "answer-not-trained",
    "prompt-trained",
    "end-of-turn-not-trained",
    "overlong-examples",
    "truncated-answers",
]

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


PARTS: tuple[TokenPart, ...] = get_args(TokenPart)
"""The part with code i is `PARTS[i]`. A token that spans two parts belongs to the one with the higher code,
so a token that holds any character of the answer is an answer token."""
PROMPT, MARKUP, END_OF_TURN = (PARTS.index(part) for part in ("prompt", "markup", "end_of_turn"))

_CHUNK_SIZE = 1_000

IntArray = NDArray[np.int32]
ByteArray = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class EncodedExample:
    """One trace as a model is trained on it. The arrays have one entry a token."""

    text: str
    token_ids: IntArray
    loss_mask: ByteArray
    """1 where the loss counts: the completion up to and including the end of the turn."""
    parts: ByteArray
    """Codes into `PARTS`."""
    ends: IntArray
    """Where the token ends in `text`: token k shows `text[ends[k - 1] : ends[k]]`."""
    problems: frozenset[FindingCode]

    def __len__(self) -> int:
        return len(self.token_ids)


@dataclass(frozen=True)
class TraceEncoder:
    """Encodes traces and prompts for one tokenizer, chat template and markup style."""

    tokenizer: Tokenizer
    template: ChatTemplate
    markup: MarkupStyle = DEFAULT_MARKUP

    def encode(self, traces: Iterable[Trace]) -> Iterator[EncodedExample]:
        """The encoded traces, in order and lazily.

        Raises:
            DataError: A trace holds the markup itself, or the template refuses it.
        """
        remaining = iter(traces)
        while chunk := list(islice(remaining, _CHUNK_SIZE)):
            conversations = [self._conversations.build(trace) for trace in chunk]
            prompts = self._tokenized([conversation.prompt for conversation in conversations])
            completions = self._tokenized([conversation.completion for conversation in conversations])
            yield from map(self._joined, conversations, prompts, completions)

    def encode_prompt(self, prompt: str) -> list[int]:
        """The ids that generation is given: those that training masks for the same prompt."""
        [tokenized] = self._tokenized([self._conversations.build_prompt(prompt)])
        return [int(token_id) for token_id in tokenized.ids]

    def encode_messages(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """The ids that generation is given for a conversation of `{"role", "content"}`.

        Raises:
            DataError: The template refuses the messages, or leaves something out.
        """
        [tokenized] = self._tokenized([self._conversations.build_messages(messages)])
        return [int(token_id) for token_id in tokenized.ids]

    def encode_beginning(self, content: str) -> list[int]:
        """The ids of the beginning of a completion, as training tokenises it; nothing ends the turn.

        Raises:
            DataError: The template changes the content.
        """
        [tokenized] = self._tokenized([self._conversations.build_beginning(content)])
        return [int(token_id) for token_id in tokenized.ids]

    @cached_property
    def end_of_turn_id(self) -> int | None:
        """The token that training teaches as the end, so that generation stops at it; None without one."""
        [example] = self.encode([trace_from_text_steps("?", ["?"], "?")])
        ends = example.token_ids[example.parts == END_OF_TURN]
        return int(ends[0]) if ends.size else None

    @cached_property
    def _conversations(self) -> ConversationBuilder:
        return ConversationBuilder(self.template, self.markup, self.tokenizer.control_token_pattern)

    @cached_property
    def _control_ids(self) -> NDArray[np.int64]:
        return np.array(sorted(self.tokenizer.control_token_ids), dtype=np.int64)

    def _tokenized(self, texts: Sequence[TemplatedText]) -> list["_TokenizedText"]:
        encodings = self.tokenizer.encode_batch([text.text for text in texts])
        return [
            _tokenize_guarded(self.tokenizer, text)
            if text.look_alikes
            else _TokenizedText.of([(0, encoding)])
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def _joined(
        self, conversation: Conversation, prompt: "_TokenizedText", completion: "_TokenizedText"
    ) -> EncodedExample:
        codes = _part_codes(conversation, completion)
        is_control = np.isin(completion.ids, self._control_ids)
        ends_turn = np.flatnonzero(is_control & (completion.starts >= conversation.content_end))
        num_kept = len(codes)
        if ends_turn.size:
            num_kept = int(ends_turn[0]) + 1
            codes[num_kept - 1] = END_OF_TURN
        num_prompt, prompt_chars = len(prompt.ids), len(conversation.prompt.text)
        return EncodedExample(
            text=conversation.prompt.text + conversation.completion.text[: completion.end_of(num_kept)],
            token_ids=np.concatenate([prompt.ids, completion.ids[:num_kept]]),
            loss_mask=np.repeat(np.array([0, 1], dtype=np.uint8), [num_prompt, num_kept]),
            parts=np.concatenate([np.full(num_prompt, PROMPT, dtype=np.uint8), codes[:num_kept]]),
            ends=np.concatenate([prompt.ends, completion.ends[:num_kept] + prompt_chars]),
            problems=conversation.problems,
        )


@dataclass(frozen=True, eq=False)
class _TokenizedText:
    """Ids with the character offsets of each token."""

    ids: IntArray
    starts: IntArray
    ends: IntArray

    @classmethod
    def of(cls, pieces: Sequence[tuple[int, Encoding]]) -> "_TokenizedText":
        """Join encodings that begin at the given characters of the text."""
        ids = [token_id for _, encoding in pieces for token_id in encoding.ids]
        offsets = [(start + a, start + b) for start, encoding in pieces for a, b in encoding.offsets]
        columns = np.array(offsets, dtype=np.int32).reshape(-1, 2)
        return cls(np.array(ids, dtype=np.int32), columns[:, 0], columns[:, 1])

    def end_of(self, num_tokens: int) -> int:
        return int(self.ends[:num_tokens].max(initial=0))


def _tokenize_guarded(tokenizer: Tokenizer, text: TemplatedText) -> _TokenizedText:
    """Tokenise a text whose content quotes control tokens: only the template's own become control."""
    pattern = tokenizer.control_token_pattern
    visible = list(text.text)
    for start, end in text.look_alikes:
        visible[start:end] = "\ufdd0" * (end - start)
    controls = [match.span() for match in pattern.finditer("".join(visible))] if pattern else []
    pieces: list[tuple[int, Encoding]] = []
    position = 0
    for start, end in [*controls, (len(text.text), len(text.text))]:
        pieces.append((position, tokenizer.encode_as_content(text.text[position:start])))
        pieces += [(start, encoding) for encoding in tokenizer.encode_batch([text.text[start:end]])]
        position = end
    return _TokenizedText.of(pieces)


def _part_codes(conversation: Conversation, completion: _TokenizedText) -> ByteArray:
    # One more than the text, because `reduceat` wants an index that exists for the end of the last token.
    of_characters = np.full(len(conversation.completion.text) + 1, MARKUP, dtype=np.uint8)
    for span in conversation.spans:
        of_characters[span.start : span.end] = PARTS.index(span.part)
    bounds = np.stack([completion.starts, completion.ends], axis=1).ravel()
    if not bounds.size:
        return np.zeros(0, dtype=np.uint8)
    return np.maximum.reduceat(of_characters, bounds)[::2].copy()
