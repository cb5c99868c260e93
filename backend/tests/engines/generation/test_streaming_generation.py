"""Streaming with both engines: prompts that join and leave a batch get the same completions as alone."""

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
SAMPLED = Decoding(max_new_tokens=10, temperature=1.0, top_p=0.9, seed=3)
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


def drain(stream: StreamingBatches) -> list[TokenDelta]:
    """Decode all prompts, and return the deltas."""
    deltas = []
    while stream.is_busy:
        deltas += stream.advance()
    return deltas


def tokens_of(prompt: Prompt, deltas: Iterable[TokenDelta]) -> tuple[int, ...]:
    return tuple(token for delta in deltas if delta.prompt is prompt for token in delta.token_ids)


def test_streamed_tokens_equal_generate(
    model: DecodingModel, architecture: Architecture, prompts: list[Prompt]
) -> None:
    stream = StreamingBatches(model, architecture, max_rows=2)
    decodings = [GREEDY, SAMPLED, GREEDY, SAMPLED, GREEDY]
    deltas: list[TokenDelta] = []
    for prompt, decoding in zip(prompts, decodings, strict=True):
        stream.add(prompt, decoding)  # while earlier prompts are being decoded
        deltas += stream.advance()
    deltas += drain(stream)
    for prompt, decoding in zip(prompts, decodings, strict=True):
        [alone] = write(model, [prompt], num_rows=2, **decoding.model_dump()).values()
        assert [delta.completion for delta in deltas if delta.prompt is prompt and delta.completion] == [
            alone
        ]
        assert tokens_of(prompt, deltas) == alone.token_ids


def test_deltas_have_a_few_tokens(
    model: DecodingModel, architecture: Architecture, prompts: list[Prompt]
) -> None:
    stream = StreamingBatches(model, architecture, max_rows=2)
    stream.add(prompts[0], GREEDY)
    assert [len(delta.token_ids) for delta in drain(stream)] == [STEPS_PER_DELTA, STEPS_PER_DELTA, 2]


def test_dropped_prompt_frees_its_row(
    model: DecodingModel, architecture: Architecture, prompts: list[Prompt]
) -> None:
    stream = StreamingBatches(model, architecture, max_rows=2)
    for prompt in prompts[:4]:
        stream.add(prompt, GREEDY)
    stream.advance()
    stream.drop(prompts[0])  # being decoded
    stream.drop(prompts[3])  # waiting
    deltas = drain(stream)
    assert {delta.prompt.key for delta in deltas} == {"prompt-1", "prompt-2"}
    [alone] = write(model, [prompts[2]], num_rows=2, **GREEDY.model_dump()).values()
    assert tokens_of(prompts[2], deltas) == alone.token_ids


def test_refused_prompt_fails_alone(
    model: DecodingModel, architecture: Architecture, prompts: list[Prompt]
) -> None:
    stream = StreamingBatches(model, architecture, max_rows=2)
    too_long = Prompt("too-long", [1] * architecture.max_positions)
    for prompt in (too_long, prompts[0]):
        stream.add(prompt, GREEDY)
    ended = {delta.prompt.key: delta.completion for delta in drain(stream) if delta.completion}
    assert ended["too-long"].failure == "prompt-too-long"
    assert len(ended["prompt-0"].token_ids) == GREEDY.max_new_tokens


class SevenRows:
    """Rows that generate only sevens, without a device."""

    def __init__(self, num_rows: int) -> None:
        self._num_rows = num_rows

    def prefill(self, new: PrefillBatch, num_rows: int) -> None:
        assert len(new.rows) <= num_rows

    def advance(self, num_awaited: int) -> NDArray[Any]:
        return np.full((STEPS_PER_DELTA, self._num_rows), 7)


@dataclass
class SevenModel:
    """Opens batches of `SevenRows`, unless it simulates running out of memory."""

    num_devices: int = 1
    num_refusals: int = 0
    """How many of the next batches run out of memory."""
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


def test_idle_batch_is_replaced_when_needed(architecture: Architecture, prompts: list[Prompt]) -> None:
    model = SevenModel()
    stream = StreamingBatches(model, architecture, max_rows=2)
    first, *others = temperatures(MAX_BATCHES + 1)
    for decoding in (first, first, *others, first):
        stream.add(prompts[0], decoding)
        assert tokens_of(prompts[0], drain(stream)) == (7,) * 5
    assert model.opened == [2] * (MAX_BATCHES + 2)


def test_prompt_waits_while_batches_are_busy(architecture: Architecture, prompts: list[Prompt]) -> None:
    stream = StreamingBatches(SevenModel(), architecture, max_rows=2)
    for prompt, decoding in zip(prompts, temperatures(MAX_BATCHES + 1), strict=True):
        stream.add(prompt, decoding)
    assert len({delta.prompt.key for delta in stream.advance()}) == MAX_BATCHES
    assert tokens_of(prompts[-1], drain(stream)) == (7,) * 5


def test_out_of_memory_fails_new_prompts(architecture: Architecture, prompts: list[Prompt]) -> None:
    model = SevenModel()
    stream = StreamingBatches(model, architecture, max_rows=2)
    stream.add(prompts[0], GREEDY)
    stream.advance()
    model.num_refusals = 1
    for prompt in prompts[1:3]:
        stream.add(prompt, SAMPLED)
    ended = {delta.prompt.key: delta.completion for delta in drain(stream) if delta.completion}
    assert [ended[key].failure for key in ("prompt-1", "prompt-2")] == ["out-of-memory"] * 2
    assert ended["prompt-0"].token_ids == (7,) * GREEDY.max_new_tokens


def test_idle_batches_free_their_memory(architecture: Architecture, prompts: list[Prompt]) -> None:
    model = SevenModel()
    stream = StreamingBatches(model, architecture, max_rows=2)
    stream.add(prompts[0], GREEDY)
    drain(stream)
    model.num_refusals = 1
    stream.add(prompts[1], SAMPLED)
    assert tokens_of(prompts[1], drain(stream)) == (7,) * SAMPLED.max_new_tokens
