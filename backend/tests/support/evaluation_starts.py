"""Builders for unfinished evaluations: eval items, protocols, generations and predictions."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from tunix_rt.datasets.types import EvalItem, evalset_hash, item_json
from tunix_rt.evaluation.types import (
    EvaluationStart,
    FinishedBatch,
    Generation,
    Judgement,
    Prediction,
    Protocol,
    default_extraction,
)
from tunix_rt.models.types import EvaluatedModel

START_ID = UUID("11111111-1111-4111-8111-111111111111")


def sum_items(count: int) -> tuple[EvalItem, ...]:
    """Return `count` additions with their sums."""
    return tuple(
        EvalItem(
            id=f"sum-{n}",
            prompt=f"What is {n} + 7?",
            expected_answer=str(n + 7),
            section="core",
            category="addition",
            difficulty="easy",
        )
        for n in range(count)
    )


def sum_protocol(items: tuple[EvalItem, ...], **values: Any) -> Protocol:
    """Return the protocol of an evaluation on these items."""
    given = {
        "evalset_hash": evalset_hash(items),
        "template_hash": "t" * 64,
        "extraction": default_extraction("reasoning"),
        "max_answer_chars": 1_000,
        "versions": {"extractor": "1"},
    }
    return Protocol.model_validate(given | values)


def sum_start(items: tuple[EvalItem, ...], **values: Any) -> EvaluationStart:
    """Return the start of an evaluation of a built-in model on these items."""
    given = {
        "evaluation_id": START_ID,
        "created_at": datetime(2025, 1, 1, tzinfo=UTC),
        "model": EvaluatedModel(name="tiny-llama", origin="built-in", weights="random", seed=0),
        "evalset": "sums",
        "protocol": sum_protocol(items),
    }
    return EvaluationStart.model_validate(given | values)


def sum_generation(item: EvalItem, *, sample: int = 0, answer: str | None = None) -> Generation:
    """Return a well-formed completion, by default with the correct answer."""
    answer = item.expected_answer if answer is None else answer
    text = f"<reasoning>\n{item.prompt[8:-1]} = {answer}\n</reasoning>\n<answer>{answer}</answer>"
    return Generation(
        item_id=item.id,
        sample=sample,
        text=text,
        finish="end-of-turn",
        num_prompt_tokens=9,
        num_new_tokens=20,
    )


def sum_prediction(item: EvalItem, generation: Generation) -> Prediction:
    """Return a prediction that is judged correct."""
    return Prediction(
        item_id=item.id,
        sample=generation.sample,
        prompt=item.prompt,
        expected_answer=item.expected_answer,
        section=item.section,
        category=item.category,
        difficulty=item.difficulty,
        generation=generation,
        judgement=Judgement(verdict="correct", is_well_formed=True, explanation="equal"),
    )


def batch_of(num_generations: int, *, seconds: float = 1.0) -> FinishedBatch:
    """Return a batch that was generated on the CPU."""
    return FinishedBatch(
        engine="jax",
        device="cpu",
        precision="float32",
        num_generations=num_generations,
        num_new_tokens=20 * num_generations,
        seconds=seconds,
    )


def write_evalset(path: Path, items: Sequence[EvalItem]) -> Path:
    """Write an eval set file."""
    path.write_text("".join(f"{item_json(item)}\n" for item in items), encoding="utf-8")
    return path
