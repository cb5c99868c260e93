"""A finished run with answers to a small custom eval set, created without a model."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.evaluations import make_evaluation, make_generation, make_prediction, make_protocol
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.base.home import Home
from tunix_rt.datasets.types import EvalItem, evalset_hash, item_json
from tunix_rt.engines.training.types import RunManifest, RunStatus
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Evaluation, Prediction

EVALSET = "sums"
ITEMS = (
    EvalItem(
        id="one",
        prompt="What is 9 + 9?",
        expected_answer="18",
        section="core",
        category="sum",
        difficulty="easy",
    ),
    EvalItem(
        id="two",
        prompt="What is half of one?",
        expected_answer="1/2",
        section="edge_case",
        category="fraction",
        difficulty="hard",
        answer_type="math",
    ),
)
RIGHT = {"one": "18", "two": "\\frac{1}{2}"}


def completion(answer: str) -> str:
    """Return a well-formed completion with this answer."""
    return f"<reasoning>\n9 + 9 = 18\n</reasoning>\n<answer>{answer}</answer>"


def store_answers(store: Home, name: str, answers: Mapping[str, str] = RIGHT, **values: Any) -> Evaluation:
    """Write the eval set into the home directory and store an evaluation whose verdicts are all `wrong`."""
    store.settings.evalsets_dir.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{item_json(item)}\n" for item in ITEMS)
    (store.settings.evalsets_dir / f"{EVALSET}.jsonl").write_text(lines, encoding="utf-8")
    predictions = [_wrong_prediction(item, answers[item.id]) for item in ITEMS]
    protocol = make_protocol(evalset_hash=evalset_hash(ITEMS))
    evaluation = make_evaluation(predictions, name=name, evalset=EVALSET, protocol=protocol, **values)
    EvaluationRepository(store.database).add(evaluation, predictions)
    return evaluation


def _wrong_prediction(item: EvalItem, answer: str) -> Prediction:
    return make_prediction(
        item.id,
        "wrong",
        prompt=item.prompt,
        expected_answer=item.expected_answer,
        section=item.section,
        category=item.category,
        difficulty=item.difficulty,
        generation=make_generation(item.id, text=completion(answer)),
    )


def write_run(runs_dir: Path, run_id: str, status: RunStatus | None = "succeeded") -> Path:
    """Write the directory of a finished run, or with `status=None` of an unfinished one."""
    path = runs_dir / run_id
    path.mkdir(parents=True)
    write_json_atomically(path / "recipe.resolved.json", {})
    if status is not None:
        write_json_atomically(path / "run_manifest.json", _manifest(run_id, status).to_json())
    return path


def _manifest(run_id: str, status: RunStatus) -> RunManifest:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return RunManifest(
        run_id=run_id,
        status=status,
        exit_code=0 if status == "succeeded" else 1,
        engine="jax",
        tunix_rt_version="0.1.0",
        model="tiny",
        dataset="sums-v1",
        dataset_hash="d" * 64,
        mode="full",
        is_forced=False,
        started_at=now,
        finished_at=now,
        durations_s={},
        files={},
    )
