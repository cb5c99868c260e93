"""Hashes catch changed bytes, and cross-checks between files catch resealed forgeries."""

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


def failed_checks(verdict: EvidenceVerdict) -> list[str]:
    return [check.name for check in verdict.checks if check.status == "failed"]


def test_any_flipped_byte_is_caught(bundle: Path) -> None:
    paths = [path for path in bundle.rglob("*") if path.is_file()]
    assert len(paths) > 20
    for path in paths:
        content = path.read_bytes()
        for offset in {len(content) * share // (NUM_OFFSETS - 1) for share in range(NUM_OFFSETS - 1)} | {
            len(content) - 1
        }:
            flipped = bytes([content[offset] ^ 0x01])
            path.write_bytes(content[:offset] + flipped + content[offset + 1 :])
            assert not verify_evidence(bundle).passed, f"{path.name}, byte {offset}"
        path.write_bytes(content)
    assert verify_evidence(bundle).passed


def edit_first_line(path: str, change: Callable[[Any], None]) -> Callable[[Path], None]:
    def forge(bundle: Path) -> None:
        first, *rest = (bundle / path).read_text(encoding="utf-8").splitlines()
        value = json.loads(first)
        change(value)
        (bundle / path).write_text("\n".join([json.dumps(value), *rest]) + "\n", encoding="utf-8")

    return forge


def forge_verdicts(bundle: Path) -> None:
    path = bundle / "predictions.jsonl"
    path.write_text(path.read_text().replace('"verdict": "wrong"', '"verdict": "correct"'))


def forge_step_verdicts(bundle: Path) -> None:
    def confirm(prediction: Any) -> None:
        steps = prediction["judgement"]["steps"]
        steps[0]["verdict"] = "broken" if steps[0]["verdict"] != "broken" else "confirmed"

    edit_first_line("predictions.jsonl", confirm)(bundle)


def forge_steps_of_unknown_linter(bundle: Path) -> None:
    forge_step_verdicts(bundle)
    change_json("evaluation.json", lambda value: value["protocol"]["versions"].update(linter="0.9"))(bundle)


def forge_texts(bundle: Path) -> None:
    path = bundle / "predictions.jsonl"
    path.write_text(path.read_text().replace("<answer>18</answer>", "<answer>17</answer>"))


def drop_question(bundle: Path) -> None:
    path = bundle / "predictions.jsonl"
    path.write_text(path.read_text().splitlines()[0] + "\n")


def forge_device(bundle: Path) -> None:
    path = bundle / "gpu_snapshot.txt"
    path.write_text(path.read_text().replace("cpu:0", "NVIDIA H200"))


def drop_row(bundle: Path) -> None:
    path = bundle / "dataset" / "train.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


FORGERIES = {
    "verdict": (forge_verdicts, "scores"),
    "step verdict": (forge_step_verdicts, "scores"),
    "verdict of an unknown linter": (forge_steps_of_unknown_linter, "scores"),
    "completion text": (forge_texts, "scores"),
    "missing answer": (drop_question, "scores"),
    "score": (
        change_json("evaluation.json", lambda value: value["scores"].update(primary_score=1.0)),
        "scores",
    ),
    "final loss": (
        change_json("run_manifest.json", lambda value: value["figures"].update(final_loss=0.1)),
        "figures",
    ),
    "summary figure": (
        change_json("eval_summary.json", lambda value: value["figures"]["final_loss"].update(value=0.1)),
        "figures",
    ),
    "step loss": (edit_first_line("metrics.jsonl", lambda value: value.update(loss=9.0)), "figures"),
    "expected answer": (
        edit_first_line("evalset.jsonl", lambda value: value.update(expected_answer="19")),
        "evaluation",
    ),
    "run status": (
        change_json("run_manifest.json", lambda value: value.update(status="cancelled")),
        "complete",
    ),
    "exit code": (change_json("run_manifest.json", lambda value: value.update(exit_code=3)), "run"),
    "device": (forge_device, "run"),
    "dataset rows": (drop_row, "dataset"),
    "dataset hash": (
        change_json("run_manifest.json", lambda value: value.update(dataset_hash="e" * 64)),
        "dataset",
    ),
    "null": (change_json("eval_summary.json", lambda value: value.update(eval_set=None)), "contents"),
    "figure without source": (
        change_json("eval_summary.json", lambda value: value["figures"]["final_loss"].pop("source")),
        "contents",
    ),
    "unknown key": (
        change_json("run_manifest.json", lambda value: value.update(notes="trust me")),
        "contents",
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_resealed_forgery_is_caught(bundle: Path, forgery: str) -> None:
    forge, caught_by = FORGERIES[forgery]
    forge(bundle)
    reseal(bundle)

    verdict = verify_evidence(bundle)

    assert caught_by in failed_checks(verdict), [check.to_json() for check in verdict.checks]
    assert {"files", "manifest", "sums"}.isdisjoint(failed_checks(verdict))


def test_resealing_alone_is_valid(bundle: Path) -> None:
    reseal(bundle)

    assert verify_evidence(bundle).passed


def test_replaced_weights_are_caught(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "home", tmp_path / "bundle", has_model=True)
    (bundle / "model" / "model.safetensors").write_bytes(b"better weights")
    reseal(bundle)

    verdict = verify_evidence(bundle)

    assert [problem.detail for problem in verdict.problems] == [
        "evaluation.json has other weights than the run exported",
        "the weights in model/ are not those that were evaluated",
    ]


def test_nan_value_is_caught(bundle: Path) -> None:
    path = bundle / "plan.json"
    path.write_text(path.read_text().replace('"step_seconds": 1.0', '"step_seconds": NaN'))
    reseal(bundle)

    verdict = verify_evidence(bundle)

    assert any("NaN is not a JSON number" in problem.detail for problem in verdict.problems)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"epoch": 1e-300}, "training"),
        ({"time": "9999-12-31T23:59:59.999999Z"}, "training"),
        ({"time": "2026-01-01T00:00:00"}, "training"),
        ({"loss": 1e308}, "figures"),
    ],
)
def test_absurd_values_fail_without_an_error(bundle: Path, change: dict[str, Any], check: str) -> None:
    edit_first_line("metrics.jsonl", lambda value: value.update(change))(bundle)
    reseal(bundle)

    assert check in failed_checks(verify_evidence(bundle))
