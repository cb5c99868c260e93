r"""Encode a trace in its chat template as token ids, with the loss mask and the part of every token.

Only the control tokens of the template are control tokens. Positions where content contains their text (a
prompt that quotes `<end_of_turn>`) are recorded, so that it is encoded as plain text.

Training, evaluation and serving give the model the same prompt ids. Prompt and completion are tokenised
separately, as in generation:

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
from tunix_rt.traces.completion import PartSpan, chat_messages, render_completion
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

# Unicode noncharacters, which never occur in text for interchange.
_STAND_IN = re.compile("\ufdd0([0-9]+)\ufdd1")
_NONCHARACTERS = "[\ufdd0\ufdd1]"


@dataclass(frozen=True)
class TemplatedText:
    """Content rendered with a chat template."""

    text: str
    look_alikes: tuple[tuple[int, int], ...] = ()
    """Spans of content that look like control tokens."""


@dataclass(frozen=True)
class Conversation:
    """One trace inside its chat template."""

    prompt: TemplatedText
    """The prompt of generation."""
    completion: TemplatedText
    """Everything after the prompt, including the end of the turn."""
    content_end: int
    """Offset of the end of the rendered trace in the completion."""
    spans: tuple[PartSpan, ...]
    """Parts as offsets into the completion; empty when the template changed the content."""
    problems: frozenset[FindingCode]


def _restored(rendered: str, originals: list[str]) -> TemplatedText:
    """Replace the stand-ins with the original content."""
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
    """One trace as a model is trained on it. The arrays have one entry per token."""

    text: str
    token_ids: IntArray
    loss_mask: ByteArray
    """1 for tokens with loss: the completion up to and including the end of the turn."""
    parts: ByteArray
    """Codes into `PARTS`."""
    ends: IntArray
    """End offset of each token in `text`: token k is `text[ends[k - 1] : ends[k]]`."""
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
        """Encode traces lazily, in order.

        Raises:
            DataError: A trace contains the markup, or the template rejects it.
        """
        remaining = iter(traces)
        while chunk := list(islice(remaining, _CHUNK_SIZE)):
            conversations = [self._conversation(trace) for trace in chunk]
            prompts = self._tokenized([conversation.prompt for conversation in conversations])
            completions = self._tokenized([conversation.completion for conversation in conversations])
            yield from map(self._joined, conversations, prompts, completions)

    def encode_prompt(self, prompt: str) -> list[int]:
        """The prompt ids for generation, equal to those that training masks."""
        originals: list[str] = []
        rendered = self._render_prompt(self._with_stand_ins(prompt, originals))
        return self._ids(_restored(rendered, originals))

    def encode_messages(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """The prompt ids for a conversation of `{"role", "content"}` messages.

        A single question gives the same ids as `encode_prompt`.

        Raises:
            DataError: The template rejects the messages, or drops one that the model did not write.
        """
        originals: list[str] = []
        prepared = [
            {
                **message,
                "content": self._with_stand_ins(
                    message["content"],
                    originals,
                    # Messages of the model may contain the markup, which may be control tokens.
                    keep=MARKUPS[self.markup].reserved if message["role"] == "assistant" else (),
                ),
            }
            for message in messages
        ]
        rendered = self.template.render(prepared, add_generation_prompt=True)
        for number, message in enumerate(prepared):
            if message["role"] != "assistant" and message["content"].strip() not in rendered:
                raise DataError(
                    f"The chat template {self.template.name!r} leaves out or changes message {number}, "
                    f"which the {message['role']} wrote.",
                    next_step="Put it into the first user message, or choose another template.",
                )
        return self._ids(_restored(rendered, originals))

    def encode_beginning(self, content: str) -> list[int]:
        """The ids of the start of a completion, tokenised as in training, without an end of turn.

        Raises:
            DataError: The template changes or rejects the content.
        """
        originals: list[str] = []
        completion = self._with_stand_ins(content, originals, keep=MARKUPS[self.markup].reserved)
        _, rest, _ = self._split("?", completion)
        before, match, _ = rest.partition(completion.strip())
        if completion.strip() and not match:
            raise DataError(
                f"The chat template {self.template.name!r} changes the content of a completion.",
                next_step="Choose another template; docs/templates.md lists the built-in ones.",
            )
        return self._ids(_restored(before + completion.lstrip(), originals))

    def _ids(self, text: TemplatedText) -> list[int]:
        [tokenized] = self._tokenized([text])
        return [int(token_id) for token_id in tokenized.ids]

    @cached_property
    def end_of_turn_id(self) -> int | None:
        """The end-of-turn token, at which generation stops; None if the template has none."""
        [example] = self.encode([trace_from_text_steps("?", ["?"], "?")])
        ends = example.token_ids[example.parts == END_OF_TURN]
        return int(ends[0]) if ends.size else None

    @cached_property
    def _control_ids(self) -> NDArray[np.int64]:
        return np.array(sorted(self.tokenizer.control_token_ids), dtype=np.int64)

    def _conversation(self, trace: Trace) -> Conversation:
        """Render one trace, split at the start of generation."""
        completion = render_completion(trace, self.markup)
        originals: list[str] = []
        prompt_text = self._with_stand_ins(trace.prompt, originals)
        # Content cannot contain the markup, so a match is real markup and may be a control token.
        completion_text = self._with_stand_ins(completion.text, originals, keep=MARKUPS[self.markup].reserved)
        prompt, rest, problems = self._split(prompt_text, completion_text)
        pattern = self.tokenizer.control_token_pattern
        if pattern is not None and any(map(pattern.fullmatch, originals)):
            problems.add("special-token-in-content")
        # The template may trim the completion and add text around it.
        before, match, _ = rest.partition(completion_text.strip())
        end, spans = 0, []
        if match:
            start = len(_restored(before, originals).text)
            end = start + len(completion.text.strip())
            shift = start - (len(completion.text) - len(completion.text.lstrip()))
            spans = [
                PartSpan(span.part, max(span.start + shift, start), min(span.end + shift, end))
                for span in completion.spans
            ]
        else:
            problems.add("template-changes-content")
        return Conversation(
            prompt=_restored(prompt, originals),
            completion=_restored(rest, originals),
            content_end=end,
            spans=tuple(spans),
            problems=frozenset(problems),
        )

    def _render_prompt(self, prompt: str) -> str:
        return self.template.render(chat_messages(prompt), add_generation_prompt=True)

    def _split(self, question: str, answer: str) -> tuple[str, str, set[FindingCode]]:
        """The prompt and completion texts, both with stand-ins, and their problems."""
        problems: set[FindingCode] = set()
        prompt = self._render_prompt(question)
        whole = self.template.render(chat_messages(question, answer), add_generation_prompt=False)
        if question.strip() not in prompt:
            problems.add("template-changes-content")
        if not whole.startswith(prompt):
            before, match, after = whole.rpartition(answer.strip())
            return before, match + after, problems | {"template-without-generation-prompt"}
        rest = whole[len(prompt) :]
        before, match, _ = rest.partition(answer.strip())
        if match and before.strip():
            is_header = not self.template.reacts_to_generation_prompt
            problems.add("template-without-generation-prompt" if is_header else "template-adds-text")
        return prompt, rest, problems

    def _with_stand_ins(self, content: str, originals: list[str], keep: Collection[str] = ()) -> str:
        """Replace text that looks like control tokens, to distinguish it from those of the template."""

        def stand_in(match: re.Match[str]) -> str:
            if match.group() in keep:
                return match.group()
            originals.append(match.group())
            return f"\ufdd0{len(originals) - 1}\ufdd1"

        look_alike = _NONCHARACTERS
        if self.tokenizer.control_token_pattern is not None:
            look_alike += "|" + self.tokenizer.control_token_pattern.pattern
        return re.sub(look_alike, stand_in, content)

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
        end = int(completion.ends[:num_kept].max(initial=0))
        return EncodedExample(
            text=conversation.prompt.text + conversation.completion.text[:end],
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
    def of(cls, chunks: Sequence[tuple[int, Encoding]]) -> "_TokenizedText":
        """Join encodings that start at the given offsets of the text."""
        ids = [token_id for _, encoding in chunks for token_id in encoding.ids]
        offsets = [(start + a, start + b) for start, encoding in chunks for a, b in encoding.offsets]
        columns = np.array(offsets, dtype=np.int32).reshape(-1, 2)
        return cls(np.array(ids, dtype=np.int32), columns[:, 0], columns[:, 1])


def _tokenize_guarded(tokenizer: Tokenizer, text: TemplatedText) -> _TokenizedText:
    """Tokenise a text whose content quotes control tokens, which stay plain text."""
    pattern = tokenizer.control_token_pattern
    visible = list(text.text)
    for start, end in text.look_alikes:
        visible[start:end] = "\ufdd0" * (end - start)
    controls = [match.span() for match in pattern.finditer("".join(visible))] if pattern else []
    chunks: list[tuple[int, Encoding]] = []
    position = 0
    for start, end in [*controls, (len(text.text), len(text.text))]:
        chunks.append((position, tokenizer.encode_as_content(text.text[position:start])))
        chunks += [(start, encoding) for encoding in tokenizer.encode_batch([text.text[start:end]])]
        position = end
    return _TokenizedText.of(chunks)


def _part_codes(conversation: Conversation, completion: _TokenizedText) -> ByteArray:
    # One longer than the text, because `reduceat` needs a valid index for the end of the last token.
    of_characters = np.full(len(conversation.completion.text) + 1, MARKUP, dtype=np.uint8)
    for span in conversation.spans:
        of_characters[span.start : span.end] = PARTS.index(span.part)
    bounds = np.stack([completion.starts, completion.ends], axis=1).ravel()
    if not bounds.size:
        return np.zeros(0, dtype=np.uint8)
    return np.maximum.reduceat(of_characters, bounds)[::2].copy()
