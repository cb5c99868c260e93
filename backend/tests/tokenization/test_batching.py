"""Rows and batches are laid out correctly and depend only on the seed."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.encoders import make_encoder

from tunix_rt.base.errors import DataError, InvalidInputError
from tunix_rt.tokenization.encoding import PARTS, EncodedExample
from tunix_rt.tokenization.packing import (
    Batches,
    BatchSettings,
    first_fit_decreasing,
    plan_rows,
    require_trained_answers,
)
from tunix_rt.traces.types import trace_from_text_steps

PAD, Q, A, B = 0, 7, 8, 9


def make_example(prompt: list[int], completion: list[int]) -> EncodedExample:
    """Build an example whose completion consists of the answer."""
    num_prompt, num_answer = len(prompt), len(completion)
    return EncodedExample(
        text="",
        token_ids=np.array(prompt + completion, dtype=np.int32),
        loss_mask=np.array([0] * num_prompt + [1] * num_answer, dtype=np.uint8),
        parts=np.array([0] * num_prompt + [PARTS.index("answer")] * num_answer, dtype=np.uint8),
        ends=np.zeros(num_prompt + num_answer, dtype=np.int32),
        problems=frozenset(),
    )


def make_examples(*lengths: int) -> list[EncodedExample]:
    return [make_example([Q], [10 + position] * (length - 1)) for position, length in enumerate(lengths)]


def make_batches(examples: list[EncodedExample], **options: object) -> Batches:
    defaults = {"row_length": 10, "rows_per_batch": 1}
    return Batches(examples, BatchSettings(**(defaults | options)), pad_id=PAD)  # type: ignore[arg-type]


def test_packed_row_layout() -> None:
    batch = make_batches([make_example([Q, Q], [A, A, A]), make_example([Q], [B, B, B])]).batch(0)
    assert batch.tokens.tolist() == [[Q, Q, A, A, A, Q, B, B, B, PAD]]
    assert batch.segment_ids.tolist() == [[1, 1, 1, 1, 1, 2, 2, 2, 2, 0]]
    assert batch.positions.tolist() == [[0, 1, 2, 3, 4, 0, 1, 2, 3, 0]]
    assert batch.targets.tolist() == [[Q, A, A, A, Q, B, B, B, PAD, PAD]]
    assert batch.loss_mask.tolist() == [[0, 1, 1, 1, 0, 1, 1, 1, 0, 0]]
    assert batch.examples == ((0, 1),)
    assert batch.num_trained_tokens == 6


def test_unpacked_row_holds_one_example() -> None:
    made = make_batches(make_examples(4, 3), packed=False)
    assert made.num_batches_per_epoch == 2
    assert sorted(made.batch(i).examples for i in range(2)) == [((0,),), ((1,),)]


def test_pad_token_in_completion_is_trained() -> None:
    batch = Batches(
        [make_example([Q], [A, PAD])], BatchSettings(row_length=5, rows_per_batch=1), pad_id=PAD
    ).batch(0)
    assert batch.targets.tolist() == [[A, PAD, PAD, PAD, PAD]]
    assert batch.loss_mask.tolist() == [[1, 1, 0, 0, 0]]


def test_epoch_visits_every_example_once() -> None:
    made = make_batches(make_examples(*[3, 4, 5, 6, 7, 8] * 5), rows_per_batch=4)
    for epoch in range(3):
        first = epoch * made.num_batches_per_epoch
        seen = [made.batch(first + i).examples for i in range(made.num_batches_per_epoch)]
        assert Counter(e for batch in seen for row in batch for e in row) == Counter(range(30))


def test_order_varies_by_epoch_and_seed() -> None:
    examples = make_examples(*[3, 4, 5, 6, 7, 8] * 5)
    made, other = make_batches(examples), make_batches(examples, seed=1)
    per_epoch = made.num_batches_per_epoch
    first = [made.batch(i).examples for i in range(per_epoch)]
    assert first != [made.batch(per_epoch + i).examples for i in range(per_epoch)]
    assert first != [other.batch(i).examples for i in range(per_epoch)]


def test_batch_depends_only_on_index() -> None:
    """A resumed run reads the same bytes as an uninterrupted run."""
    examples = make_examples(*[3, 4, 5, 6, 7, 8] * 5)
    uninterrupted = [make_batches(examples, rows_per_batch=2).batch(i) for i in range(20)]
    resumed = make_batches(examples, rows_per_batch=2)
    for index in (19, 3, 11):
        for name in ("tokens", "targets", "loss_mask", "segment_ids", "positions"):
            expected, found = getattr(uninterrupted[index], name), getattr(resumed.batch(index), name)
            assert expected.tobytes() == found.tobytes()
            assert expected.dtype == found.dtype


def test_seed_order_is_stable() -> None:
    plan = plan_rows([5] * 8, row_length=5, packed=True, seed=3)
    assert [row[0] for row in plan.epoch(0)] == [2, 1, 6, 4, 7, 5, 3, 0]


def test_last_batch_gets_padding_rows() -> None:
    made = make_batches(make_examples(9, 9, 9), rows_per_batch=2)
    last = made.batch(1)
    assert made.num_batches_per_epoch == 2
    assert last.segment_ids[1].tolist() == [0] * 10
    assert last.loss_mask[1].sum() == 0
    assert made.fill_ratio == pytest.approx(27 / 40)


def test_first_fit_uses_first_free_row() -> None:
    assert first_fit_decreasing([5, 4, 3, 2], 8) == [[0, 2], [1, 3]]
    assert first_fit_decreasing([], 8) == []


@settings(deadline=None)
@given(st.lists(st.integers(1, 64), min_size=1, max_size=80))
def test_first_fit_matches_reference(lengths: list[int]) -> None:
    descending = sorted(lengths, reverse=True)
    rows: list[list[int]] = []
    for position, length in enumerate(descending):
        with_room = (row for row in rows if sum(descending[p] for p in row) + length <= 64)
        row = next(with_room, None)
        if row is None:
            rows.append([position])
        else:
            row.append(position)
    assert first_fit_decreasing(descending, 64) == rows


def test_overlong_example_reports_required_length() -> None:
    with pytest.raises(DataError, match=r"1 of 2 examples.*10; the longest has 12.*12 or more.*drop"):
        make_batches(make_examples(4, 12))


def test_dropped_examples_keep_positions() -> None:
    made = make_batches(make_examples(12, 4), overlong="drop")
    assert (made.num_examples, made.num_dropped) == (1, 1)
    assert made.batch(0).examples == ((1,),)
    assert made.batch(0).tokens[0, 1] == 11


def test_dropping_everything_is_rejected() -> None:
    with pytest.raises(DataError, match="2 of 2"):
        make_batches(make_examples(12, 13), overlong="drop")


def test_empty_dataset_is_rejected() -> None:
    with pytest.raises(DataError, match="no examples"):
        make_batches([])


@pytest.mark.parametrize("shape", [{"row_length": 1}, {"rows_per_batch": 0}])
def test_invalid_shapes_are_rejected(shape: dict[str, int]) -> None:
    with pytest.raises(InvalidInputError):
        make_batches(make_examples(4), **shape)


def test_answers_without_loss_are_rejected() -> None:
    questions_only = [replace(e, loss_mask=1 - e.loss_mask) for e in make_examples(4, 5)]
    with pytest.raises(DataError, match="carries no loss"):
        make_batches(questions_only)


def test_partly_trained_answer_is_rejected() -> None:
    examples = make_examples(4, 5, 6)
    examples[1] = replace(examples[1], loss_mask=np.array([0, 1, 1, 1, 0], dtype=np.uint8))
    with pytest.raises(DataError, match="Example 1"):
        make_batches(examples)


def test_example_without_answer_is_rejected() -> None:
    [example] = make_examples(4)
    with pytest.raises(DataError, match="carries no loss"):
        list(require_trained_answers([replace(example, parts=np.ones(4, dtype=np.uint8))]))


def test_example_without_prompt_is_rejected() -> None:
    with pytest.raises(DataError, match="no prompt token"):
        make_batches([make_example([], [A, A])])


@pytest.mark.parametrize(
    "template",
    [
        "{% for m in messages %}<bos>{{ m.role }}\n{{ m.content }}<eos>\n{% endfor %}",
        "{% for m in messages %}{{ m.content | upper }}<eos>{% endfor %}",
    ],
)
def test_broken_template_is_rejected(template: str) -> None:
    encoded = make_encoder(template).encode([trace_from_text_steps("q", ["work"], "five")])
    with pytest.raises(DataError, match="template-"):
        make_batches(list(encoded), row_length=500)


def test_packed_rows_preserve_encoded_examples() -> None:
    traces = [trace_from_text_steps(f"q{i}", ["work"] * (i % 4 + 1), str(i)) for i in range(40)]
    examples = list(make_encoder().encode(traces))
    made = make_batches(examples, row_length=300, rows_per_batch=2)
    trained = 0
    for index in range(made.num_batches_per_epoch):
        batch = made.batch(index)
        trained += batch.num_trained_tokens
        for row, positions in enumerate(batch.examples):
            for segment, position in enumerate(positions, start=1):
                inside = batch.segment_ids[row] == segment
                assert batch.tokens[row][inside].tolist() == examples[position].token_ids.tolist()
                shifted = [*examples[position].loss_mask.tolist()[1:], 0]
                assert batch.loss_mask[row][inside].tolist() == shifted
    assert trained == made.num_trained_tokens_per_epoch
