"""Changed bytes are caught by hashes, consistent forgeries by contradictions."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.evidence_runs import change_json, packed, reseal

from tunix_rt.evidence.types import EvidenceVerdict
from tunix_rt.evidence.verify import verify_evidence

NUM_OFFSETS = 7


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("evidence")
    return packed(root / "home", root / "bundle")


@pytest.fixture
def bundle(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "bundle"))


def failed(verdict: EvidenceVerdict) -> list[str]:
    return [check.name for check in verdict.checks if check.status == "failed"]


def test_any_flipped_byte_is_caught(bundle: Path) -> None:
    paths = [path for path in bundle.rglob("*") if path.is_file()]
    assert len(paths) > 20
    for path in paths:
        content = path.read_bytes()
        for place in {len(content) * share // (NUM_OFFSETS - 1) for share in range(NUM_OFFSETS - 1)} | {
            len(content) - 1
        }:
            flipped = bytes([content[place] ^ 0x01])
            path.write_bytes(content[:place] + flipped + content[place + 1 :])
            assert not verify_evidence(bundle).passed, f"{path.name}, byte {place}"
        path.write_bytes(content)
    assert verify_evidence(bundle).passed


def of_first_line(path: str, change: Callable[[Any], None]) -> Callable[[Path], None]:
    def forge(bundle: Path) -> None:
        first, *rest = (bundle / path).read_text(encoding="utf-8").splitlines()
        value = json.loads(first)
        change(value)
        (bundle / path).write_text("\n".join([json.dumps(value), *rest]) + "\n", encoding="utf-8")

    return forge


def better_verdicts(bundle: Path) -> None:
    path = bundle / "predictions.jsonl"
    path.write_text(path.read_text().replace('"verdict": "wrong"', '"verdict": "correct"'))


def better_steps(bundle: Path) -> None:
    def confirm(prediction: Any) -> None:
        steps = prediction["judgement"]["steps"]
        steps[0]["verdict"] = "broken" if steps[0]["verdict"] != "broken" else "confirmed"

    of_first_line("predictions.jsonl", confirm)(bundle)


def steps_of_an_unknown_linter(bundle: Path) -> None:
    better_steps(bundle)
    change_json("evaluation.json", lambda value: value["protocol"]["versions"].update(linter="0.9"))(bundle)


def better_texts(bundle: Path) -> None:
    path = bundle / "predictions.jsonl"
    path.write_text(path.read_text().replace("<answer>18</answer>", "<answer>17</answer>"))


def fewer_questions(bundle: Path) -> None:
    path = bundle / "predictions.jsonl"
    path.write_text(path.read_text().splitlines()[0] + "\n")


def another_device(bundle: Path) -> None:
    path = bundle / "gpu_snapshot.txt"
    path.write_text(path.read_text().replace("cpu:0", "NVIDIA H200"))


def fewer_rows(bundle: Path) -> None:
    path = bundle / "dataset" / "train.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


FORGERIES = {
    "a verdict": (better_verdicts, "scores"),
    "a verdict on a step": (better_steps, "scores"),
    "a verdict of an unknown linter": (steps_of_an_unknown_linter, "scores"),
    "a text": (better_texts, "scores"),
    "a missing answer": (fewer_questions, "scores"),
    "a score": (
        change_json("evaluation.json", lambda value: value["scores"].update(primary_score=1.0)),
        "scores",
    ),
    "a final loss": (
        change_json("run_manifest.json", lambda value: value["figures"].update(final_loss=0.1)),
        "figures",
    ),
    "a figure of the summary": (
        change_json("eval_summary.json", lambda value: value["figures"]["final_loss"].update(value=0.1)),
        "figures",
    ),
    "a loss of a step": (of_first_line("metrics.jsonl", lambda value: value.update(loss=9.0)), "figures"),
    "the questions": (
        of_first_line("evalset.jsonl", lambda value: value.update(expected_answer="19")),
        "run",
    ),
    "the end of the run": (
        change_json("run_manifest.json", lambda value: value.update(status="cancelled")),
        "complete",
    ),
    "the exit code": (change_json("run_manifest.json", lambda value: value.update(exit_code=3)), "run"),
    "the device": (another_device, "run"),
    "the rows": (fewer_rows, "dataset"),
    "the dataset's hash": (
        change_json("run_manifest.json", lambda value: value.update(dataset_hash="e" * 64)),
        "dataset",
    ),
    "a null": (change_json("eval_summary.json", lambda value: value.update(eval_set=None)), "contents"),
    "a figure without a source": (
        change_json("eval_summary.json", lambda value: value["figures"]["final_loss"].pop("source")),
        "contents",
    ),
    "an unknown key": (
        change_json("run_manifest.json", lambda value: value.update(notes="trust me")),
        "contents",
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_resealed_forgery_is_caught(bundle: Path, forgery: str) -> None:
    forge, caught_by = FORGERIES[forgery]
    forge(bundle)
    reseal(bundle)

    verdict = verify_evidence(bundle)

    assert caught_by in failed(verdict), [check.to_json() for check in verdict.checks]
    assert {"files", "manifest", "sums"}.isdisjoint(failed(verdict))


def test_resealing_alone_is_valid(bundle: Path) -> None:
    reseal(bundle)

    assert verify_evidence(bundle).passed


def test_other_weights_are_caught(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "home", tmp_path / "bundle", has_model=True)
    (bundle / "model" / "model.safetensors").write_bytes(b"better weights")
    reseal(bundle)

    verdict = verify_evidence(bundle)

    assert [problem.detail for problem in verdict.problems] == [
        "the weights in model/ are not those that were evaluated"
    ]


def test_nan_in_place_of_a_number_is_caught(bundle: Path) -> None:
    path = bundle / "plan.json"
    path.write_text(path.read_text().replace('"step_seconds": 1.0', '"step_seconds": NaN'))
    reseal(bundle)

    verdict = verify_evidence(bundle)

    assert any("NaN is not a JSON number" in problem.detail for problem in verdict.problems)
