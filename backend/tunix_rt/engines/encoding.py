r"""A trace as token ids, with the loss mask and the part of every token.

Training, evaluation and serving give the model the same prompt ids. Prompt and completion are tokenised
apart, because generation does so:

    <bos><start_of_turn>user\n6*7?<end_of_turn>\n<start_of_turn>model\n   the prompt: masked
    <reasoning>\n6*7=42\n</reasoning>\n<answer>42</answer><end_of_turn>   the completion: trained
    \n                                                                    what follows it: dropped
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from tunix_rt.core.xray import FindingCode, TokenPart
from tunix_rt.engines.chat_template import ChatTemplate
from tunix_rt.engines.conversation import Conversation, ConversationBuilder, TemplatedText
from tunix_rt.engines.tokenizer import Tokenizer
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle, Trace, trace_from_text_steps

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
