"""The home directory, files and names that the pages of docs/ refer to, created without a model."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.datasets import add, stored, sums
from support.documented_commands import run
from support.evaluations import make_evaluation, make_predictions, write_evaluation
from support.evidence_runs import WritingEngine, evaluate, trained_run
from support.models import plain_model, sqlite_home
from support.queued_runs import claimed, queued
from support.submitting import SMALL_RECIPE
from tunix_rt.base.home import Home, open_home
from tunix_rt.engines.training.job import TrainingJob, TrainingResult
from tunix_rt.engines.training.records import RunRecords
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.system.access import create_token
from tunix_rt.system.store import TokenRepository
from tunix_rt.traces.types import Trace, trace_from_text_steps

FINISHED = "20250131-142907-demo-3f2a"
QUEUED = "20250131-150301-smoke-tiny-8c1d"
REVIEWED = trace_from_text_steps(
    "What is 2 + 3?", ["Two numbers are added.", "2 + 3 = 6", "So it is 6."], "6", {}
)


class ExportingEngine(WritingEngine):
    """Writes a model directory with a config."""

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        """Write the files of a training run."""
        result = super().train(job, records)
        (job.run_dir.model / "config.json").write_text('{"model_type": "llama"}')
        return result


def write_files(work: Path, root: Path) -> None:
    """Create the files in the working directory of the reader."""
    (work / "training").symlink_to(root / "training")
    (work / "backups").mkdir()
    (work / "my.yaml").write_text(json.dumps(SMALL_RECIPE))
    _write_traces(work)
    _write_answers(work)
    plain_model(work / "out" / "model")
    for path in ("a", "b", "out/eval", "baselines/eval", "from-elsewhere"):
        write_evaluation(work / path, "1110" * 10, name=f"run-{Path(path).parts[0]}-dir")


def _write_traces(work: Path) -> None:
    gsm8k = [
        {
            "question": f"{n} and {n} apples?",
            "answer": f"{n} + {n} = {2 * n}\n#### {2 * n}",
            "category": "algebra",
        }
        for n in range(30)
    ]
    (work / "gsm8k_train.jsonl.gz").write_bytes(gzip.compress(_lines(gsm8k)))
    (work / "solutions.jsonl").write_bytes(_lines(gsm8k))
    (work / "big.jsonl.gz").write_bytes(gzip.compress(_lines(gsm8k[:3])))
    alpaca = {"instruction": "Add 1 and 2.", "output": "1 + 2 = 3\nAnswer: 3"}
    (work / "alpaca_data.json").write_text(json.dumps([alpaca, {"instruction": "no output"}]))
    (work / "sheet.csv").write_text("Question,Solution,Topic\nWhat is 1 + 1?,1 + 1 = 2. Answer: 2,sums\n")


def _write_answers(work: Path) -> None:
    evalset = (work / "training" / "evalsets" / "eval_v2.jsonl").read_text(encoding="utf-8")
    items = [json.loads(line) for line in evalset.splitlines()]
    right = [{"id": item["id"], "prediction": _completion(item["expected_answer"])} for item in items]
    (work / "theirs.jsonl").write_bytes(_lines(right))
    (work / "sevens.jsonl").write_bytes(_lines({**one, "prediction": _completion("7")} for one in right))


def _completion(answer: str) -> str:
    return f"<reasoning>\nIt is known.\n</reasoning>\n<answer>{answer}</answer>"


def _lines(rows: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def write_home(template: Path, home: Path, work: Path) -> dict[str, str]:
    """Create runs, evaluations, traces and a token, and return the values of the placeholders in docs/."""
    store = open_home(sqlite_home(template, home))
    try:
        _write_runs(store)
        _write_evaluations(store)
        add(store, [stored(REVIEWED), *sums(4)])
        token, _ = create_token(TokenRepository(store.database), "old-laptop", "read", lifetime=None)
    finally:
        store.close()
    scored = {name: _scored(work / f"{name}.jsonl") for name in ("theirs", "sevens")}
    return {
        "/backups": str(work / "backups"),
        "/srv": str(work / "srv"),
        "RUN_DIR": str(home / "runs" / FINISHED),
        "output/demo": str(home / "runs" / FINISHED),
        "OWNER/SLUG": "ann/gemma-shows-its-work",
        "DIR": "from-elsewhere",
        "RUN": FINISHED,
        "RECIPE": "training/configs/smoke_tiny.yaml",
        "ID": _trace_id(REVIEWED),
        "BASE_ID": scored["sevens"],
        "MINE_ID": scored["theirs"],
        "NEXT_ID": _scored(work / "theirs.jsonl"),
        "3f9a1c": scored["theirs"],
        "8be0d2": scored["sevens"],
        "3f9c2a11": token.token_id,
    }


def _write_runs(store: Home) -> None:
    claim = claimed(store, FINISHED)
    run_dir = trained_run(store.settings.home_dir, run_id=FINISHED, engine=ExportingEngine())
    evaluate(store.settings.home_dir, run_dir)
    assert RunRepository(store.database).finish(claim.lease, "succeeded", "Done.", exit_code=0)
    queued(store, QUEUED)


def _write_evaluations(store: Home) -> None:
    for age, name in enumerate(("run-b", "run-a")):
        made = make_predictions("1110" * 10)
        EvaluationRepository(store.database).add(make_evaluation(made, name=name, age_hours=age), made)


def _scored(predictions: Path) -> str:
    code, output = run(f"tunix-rt eval score --predictions {predictions} --eval-set eval_v2 --json")
    assert code == 0, output
    return str(json.loads(output)["evaluation_id"])


def _trace_id(trace: Trace) -> str:
    return str(stored(trace).id)
