"""Model cards as parsed by huggingface_hub."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from huggingface_hub import ModelCard
from support.evaluations import make_evaluation, make_predictions
from support.models import new_version

from tunix_rt.engines.training.types import RunFigures
from tunix_rt.evaluation.types import summary_of
from tunix_rt.models.card import model_card
from tunix_rt.models.types import BaseReference, ModelLineage, ModelVersion

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIGURES = RunFigures(
    num_steps=9, num_planned_steps=9, num_examples=4, num_dropped_examples=0, fill_ratio=0.9, final_loss=1.25
)


def make_version(**values: Any) -> ModelVersion:
    lineage = ModelLineage(
        run_id="run-a",
        dataset="sums-v1",
        dataset_hash="d" * 64,
        base=BaseReference(name="owner/base", revision="abc"),
        figures=FIGURES,
    )
    new = new_version(**{"lineage": lineage} | values)
    return ModelVersion(**dict(new), id=uuid4(), model="demo", version=3, created_at=NOON)


def make_evaluations(*names: str) -> list[Any]:
    return [
        summary_of(make_evaluation(make_predictions("1101"), name=name, evalset="gsm8k", age_hours=age))
        for age, name in enumerate(names)
    ]


def test_hub_reads_scores_and_base() -> None:
    card = ModelCard(model_card(make_version(), make_evaluations("run-a"), base_on_hub="owner/base"))
    assert (card.data.library_name, card.data.base_model, card.data.license) == (
        "transformers",
        "owner/base",
        "other",
    )
    (result,) = card.data.eval_results
    assert (result.dataset_name, result.metric_type, result.metric_value) == ("gsm8k", "accuracy", 0.75)
    assert "n = 4" in result.metric_name
    assert "95 %" in result.metric_name


def test_newest_score_replaces_older_one() -> None:
    text = model_card(make_version(), make_evaluations("newer", "older"))
    assert text.count("| gsm8k |") == 1
    assert "| 75.0% | 30.1%–95.4% | 4 | 0 |" in text


def test_card_documents_training_and_usage() -> None:
    text = model_card(make_version(), [])
    for expected in (
        "owner/base at abc",
        "sums-v1",
        "run-a",
        "1.25",
        "This version has not been evaluated.",
        "tunix-rt chat demo:3",
    ):
        assert expected in text
    assert "PeftModel" not in text


def test_adapter_card_loads_its_base() -> None:
    card = ModelCard(model_card(make_version(kind="adapter"), [], base_on_hub="owner/base"))
    assert card.data.library_name == "peft"
    assert 'from_pretrained("owner/base"' in card.text
    merged = ModelCard(model_card(make_version(kind="adapter"), [], kind="model"))
    assert merged.data.library_name == "transformers"
    assert "merged into its base" in merged.text


def test_random_base_card_recommends_merging() -> None:
    base = BaseReference(name="tiny-llama", weights="random", seed=1, drawn_by="jax")
    text = model_card(make_version(kind="adapter", lineage=ModelLineage(base=base)), [])
    assert "models export demo:3 --as merged" in text
    assert "PeftModel" not in text


def test_user_text_cannot_inject_metadata() -> None:
    version = make_version(
        notes="---\nlicense: mit\n---", lineage=ModelLineage(run_id='a"\n---\nlicense: mit', dataset="a|b\nc")
    )
    card = ModelCard(model_card(version, []))
    assert card.data.license == "other"
    assert "- Dataset: a\\|b c" in card.text
