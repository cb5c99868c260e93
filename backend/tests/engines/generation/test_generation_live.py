"""Prompts that come and go, with both engines: each is completed as it would be alone."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from support.generation import loaded, random_prompts, write
from support.tiny_models import architecture_of, engine_params, tiny_model
from support.torch_generation import torch_model

from tunix_rt.engines.generation.base import Prompt, TokenDelta
from tunix_rt.engines.generation.scheduler import Batch, DecodingModel, PrefillBatch
from tunix_rt.engines.generation.streaming import MAX_BATCHES, STEPS_PER_DELTA, StreamingBatches
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.architecture import Architecture

GREEDY = Decoding(max_new_tokens=10)
DRAWN = Decoding(max_new_tokens=10, temperature=1.0, top_p=0.9, seed=3)
LENGTHS = (3, 7, 12, 9, 5)


@pytest.fixture(scope="module")
def architecture() -> Architecture:
    return architecture_of(tiny_model("llama"))


@pytest.fixture(scope="module", params=["jax", "torch"])
def model(
    request: pytest.FixtureRequest, architecture: Architecture, tmp_path_factory: pytest.TempPathFactory
) -> DecodingModel:
    reference = tiny_model("llama")
    name: Literal["jax", "torch"] = request.param
    if name == "jax":
        return loaded(engine_params(reference, architecture), architecture)
    directory: Path = tmp_path_factory.mktemp("llama")
    reference.save_pretrained(directory)
    return torch_model(directory)


@pytest.fixture
def prompts(architecture: Architecture) -> list[Prompt]:
    return random_prompts(LENGTHS, architecture.vocab_size)


def read_on(live: StreamingBatches) -> list[TokenDelta]:
    """All that is written until nothing is left to write."""
    pieces = []
    while live.is_busy:
        pieces += live.advance()
    return pieces


def tokens_of(prompt: Prompt, pieces: Iterable[TokenDelta]) -> tuple[int, ...]:
    return tuple(token for piece in pieces if piece.prompt is prompt for token in piece.token_ids)


def test_what_is_read_along_is_what_write_gives(
    model: DecodingModel, architecture: Architecture, prompts: list[Prompt]
) -> None:
    live = StreamingBatches(model, architecture, max_rows=2)
    decodings = [GREEDY, DRAWN, GREEDY, DRAWN, GREEDY]
    pieces: list[TokenDelta] = []
    for prompt, decoding in zip(prompts, decodings, strict=True):
        live.add(prompt, decoding)  # the others are being written meanwhile
        pieces += live.advance()
    pieces += read_on(live)
    for prompt, decoding in zip(prompts, decodings, strict=True):
        [alone] = write(model, [prompt], num_rows=2, **decoding.model_dump()).values()
        assert [piece.completion for piece in pieces if piece.prompt is prompt and piece.completion] == [
            alone
        ]
        assert tokens_of(prompt, pieces) == alone.token_ids


def test_a_reader_sees_a_few_tokens_at_a_time(
    model: DecodingModel, architecture: Architecture, prompts: list[Prompt]
) -> None:
    live = StreamingBatches(model, architecture, max_rows=2)
    live.add(prompts[0], GREEDY)
    assert [len(piece.token_ids) for piece in read_on(live)] == [STEPS_PER_DELTA, STEPS_PER_DELTA, 2]


def test_a_dropped_prompt_is_never_heard_of_again_and_its_row_is_free(
    model: DecodingModel, architecture: Architecture, prompts: list[Prompt]
) -> None:
    live = StreamingBatches(model, architecture, max_rows=2)
    for prompt in prompts[:4]:
        live.add(prompt, GREEDY)
    live.advance()
    live.drop(prompts[0])  # being written
    live.drop(prompts[3])  # waiting
    pieces = read_on(live)
    assert {piece.prompt.key for piece in pieces} == {"prompt-1", "prompt-2"}
    [alone] = write(model, [prompts[2]], num_rows=2, **GREEDY.model_dump()).values()
    assert tokens_of(prompts[2], pieces) == alone.token_ids


def test_a_prompt_that_the_model_cannot_read_fails_alone(
    model: DecodingModel, architecture: Architecture, prompts: list[Prompt]
) -> None:
    live = StreamingBatches(model, architecture, max_rows=2)
    too_long = Prompt("too-long", [1] * architecture.max_positions)
    for prompt in (too_long, prompts[0]):
        live.add(prompt, GREEDY)
    ended = {piece.prompt.key: piece.completion for piece in read_on(live) if piece.completion}
    assert ended["too-long"].failure == "prompt-too-long"
    assert len(ended["prompt-0"].token_ids) == GREEDY.max_new_tokens


class SevenRows:
    """Rows that write nothing but sevens, on no device."""

    def __init__(self, num_rows: int) -> None:
        self._num_rows = num_rows

    def prefill(self, new: PrefillBatch, num_rows: int) -> None:
        assert len(new.rows) <= num_rows

    def advance(self, num_awaited: int) -> NDArray[Any]:
        return np.full((STEPS_PER_DELTA, self._num_rows), 7)


@dataclass
class SevenModel:
    """Opens batches of such rows, as long as there is memory."""

    num_devices: int = 1
    num_refusals: int = 0
    """How often there is no memory."""
    opened: list[int] = field(default_factory=list)

    def default_rows(self, num_slots: int) -> int:
        return 64

    def batch(
        self, decoding: Decoding, *, num_rows: int, num_slots: int, steps_per_sync: int = STEPS_PER_DELTA
    ) -> Batch:
        if self.num_refusals:
            self.num_refusals -= 1
            raise RuntimeError("out of memory")
        self.opened.append(num_rows)
        return Batch(SevenRows(num_rows), num_rows=num_rows, stop_ids=frozenset())

    def batches(self, decoding: Decoding, *, num_rows: int, num_slots: int) -> list[Batch]:
        return [self.batch(decoding, num_rows=num_rows, num_slots=num_slots)]

    def is_out_of_memory(self, error: RuntimeError) -> bool:
        return "out of memory" in str(error)


def temperatures(count: int) -> list[Decoding]:
    return [Decoding(temperature=1 + number, max_new_tokens=5) for number in range(count)]


def test_a_batch_that_nobody_uses_is_kept_until_another_needs_its_place(
    architecture: Architecture, prompts: list[Prompt]
) -> None:
    model = SevenModel()
    live = StreamingBatches(model, architecture, max_rows=2)
    first, *others = temperatures(MAX_BATCHES + 1)
    for decoding in (first, first, *others, first):
        live.add(prompts[0], decoding)
        assert tokens_of(prompts[0], read_on(live)) == (7,) * 5
    assert model.opened == [2] * (MAX_BATCHES + 2)


def test_a_prompt_waits_while_all_batches_are_in_use(
    architecture: Architecture, prompts: list[Prompt]
) -> None:
    live = StreamingBatches(SevenModel(), architecture, max_rows=2)
    for prompt, decoding in zip(prompts, temperatures(MAX_BATCHES + 1), strict=True):
        live.add(prompt, decoding)
    assert len({piece.prompt.key for piece in live.advance()}) == MAX_BATCHES
    assert tokens_of(prompts[-1], read_on(live)) == (7,) * 5


def test_without_memory_prompts_fail_and_say_so(architecture: Architecture, prompts: list[Prompt]) -> None:
    model = SevenModel()
    live = StreamingBatches(model, architecture, max_rows=2)
    live.add(prompts[0], GREEDY)
    live.advance()
    model.num_refusals = 1
    for prompt in prompts[1:3]:
        live.add(prompt, DRAWN)
    ended = {piece.prompt.key: piece.completion for piece in read_on(live) if piece.completion}
    assert [ended[key].failure for key in ("prompt-1", "prompt-2")] == ["out-of-memory"] * 2
    assert ended["prompt-0"].token_ids == (7,) * GREEDY.max_new_tokens


def test_batches_that_nobody_uses_leave_their_memory_to_the_next(
    architecture: Architecture, prompts: list[Prompt]
) -> None:
    model = SevenModel()
    live = StreamingBatches(model, architecture, max_rows=2)
    live.add(prompts[0], GREEDY)
    read_on(live)
    model.num_refusals = 1
    live.add(prompts[1], DRAWN)
    assert tokens_of(prompts[1], read_on(live)) == (7,) * DRAWN.max_new_tokens
