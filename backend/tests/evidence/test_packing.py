"""Packing produces a complete bundle or names the missing files."""

import json
from pathlib import Path

import pytest
from support.evidence_runs import RUN, evaluated_run, packed, trained_run

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir, add_run_files
from tunix_rt.evidence.pack import PackRequest, pack_evidence
from tunix_rt.evidence.verify import verify_evidence
from tunix_rt.models.register import run_by_id_or_path


def pack(home: Path, **request: object) -> Path:
    settings = Settings(home=home)
    return pack_evidence(settings, PackRequest(run_by_id_or_path(settings, RUN), **request)).path  # type: ignore[arg-type]


def change_run_json(run_dir: RunDir, name: str, **values: object) -> None:
    """Change a file of a run and hide it from the run's own manifest."""
    path = run_dir.path / name
    changed = run_dir.path.parent / f"changed-{name}"
    changed.write_text(json.dumps(json.loads(path.read_bytes()) | values))
    add_run_files(run_dir, {name: changed})


def test_bundle_file_names_are_stable(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "home", tmp_path / "bundle")

    names = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}

    assert names >= {
        "run_manifest.json",
        "eval_summary.json",
        "env_snapshot.txt",
        "gpu_snapshot.txt",
        "predictions.jsonl",
        "log.txt",
        "dataset/train.jsonl",
        "evidence.html",
        "evidence.json",
        "SHA256SUMS",
    }
    assert verify_evidence(bundle).passed


def test_figures_name_their_source(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "home", tmp_path / "bundle")

    summary = json.loads((bundle / "eval_summary.json").read_bytes())

    assert summary["primary_score"]["value"] == 0.5
    assert summary["figures"]["final_loss"] == {
        "value": 1.5,
        "unit": "nats per trained token",
        "source": {"file": "metrics.jsonl", "place": "loss of step 3"},
    }


def test_missing_evaluation_suggests_command(tmp_path: Path) -> None:
    trained_run(tmp_path / "home")

    with pytest.raises(DataError, match=r"predictions\.jsonl is missing") as caught:
        pack(tmp_path / "home")

    assert "evaluation.json is missing" in caught.value.detail
    assert caught.value.next_step == f"Evaluate it: tunix-rt eval {RUN} --eval-set eval_v2"
    assert not any((tmp_path / "home" / "evidence").iterdir())


def test_failed_run_is_rejected(tmp_path: Path) -> None:
    trained_run(tmp_path / "home", fails=True)

    with pytest.raises(DataError, match="the run run-1 is failed, which is not a success") as caught:
        pack(tmp_path / "home")

    assert caught.value.next_step == "Pack it as a failure report: add --failure-report"


def test_failure_report_is_labelled(tmp_path: Path) -> None:
    trained_run(tmp_path / "home", fails=True)

    bundle = pack(tmp_path / "home", is_failure_report=True)

    page = (bundle / "evidence.html").read_text(encoding="utf-8")
    verdict = verify_evidence(bundle)
    assert verdict.passed
    assert verdict.manifest is not None
    assert verdict.manifest.headline.startswith("FAILURE REPORT: the run run-1 failed: The loss is no longer")
    assert "<h1>Failure report: run-1</h1>" in page


def test_killed_run_packs_as_failure(tmp_path: Path) -> None:
    run_dir = trained_run(tmp_path / "home")
    run_dir.manifest.unlink()
    with run_dir.metrics.open("ab") as file:
        file.write(b'{"step": 4, "epo')

    bundle = pack(tmp_path / "home", is_failure_report=True)

    assert verify_evidence(bundle).passed
    assert (bundle / "metrics.jsonl").read_bytes().endswith(b"}\n")


def test_success_is_not_a_failure_report(tmp_path: Path) -> None:
    evaluated_run(tmp_path / "home")

    with pytest.raises(DataError, match="succeeded but is packed as a failure report"):
        pack(tmp_path / "home", is_failure_report=True)


@pytest.mark.parametrize("value", [None, "TODO", "<fill in>", "n/a"])
def test_nulls_and_placeholders_are_rejected(tmp_path: Path, value: object) -> None:
    run_dir = evaluated_run(tmp_path / "home")
    change_run_json(run_dir, "environment.json", platform=value)

    with pytest.raises(DataError, match=r"environment\.json: platform"):
        pack(tmp_path / "home")


def test_changed_run_files_are_rejected(tmp_path: Path) -> None:
    run_dir = evaluated_run(tmp_path / "home")
    run_dir.metrics.write_bytes(run_dir.metrics.read_bytes().replace(b'"loss": 1.5', b'"loss": 0.5'))

    with pytest.raises(DataError, match=r"metrics\.jsonl is not what the run wrote"):
        pack(tmp_path / "home")


def test_uncommitted_changes_need_code_diff(tmp_path: Path) -> None:
    run_dir = evaluated_run(tmp_path / "home")
    change_run_json(run_dir, "environment.json", is_dirty=True)

    with pytest.raises(DataError, match=r"code\.diff is missing"):
        pack(tmp_path / "home")


def test_dataset_rows_can_be_omitted(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "home", tmp_path / "bundle", has_dataset=False)

    manifest = json.loads((bundle / "evidence.json").read_bytes())

    assert not (bundle / "dataset" / "train.jsonl").exists()
    assert [file["path"] for file in manifest["left_out"]] == [
        "dataset/train.jsonl",
        "model/model.safetensors",
    ]


def test_weights_can_be_included(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "home", tmp_path / "bundle", has_model=True)

    assert (bundle / "model" / "model.safetensors").read_bytes() == b"weights" * 10
    assert verify_evidence(bundle).passed


def test_zip_leaves_no_staging_files(tmp_path: Path) -> None:
    path = packed(tmp_path / "home", tmp_path / "out" / "bundle", is_zip=True)

    assert [found.name for found in path.parent.iterdir()] == ["bundle.zip"]
    assert verify_evidence(path).passed


def test_repacking_replaces_only_bundles(tmp_path: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "bundle"
    packed(home, target)
    pack(home, to=target)
    (target / "evidence.json").unlink()

    with pytest.raises(ConflictError, match="contains something other"):
        pack(home, to=target)


@pytest.mark.parametrize("place", ["other.zip", "home/runs/run-1/evidence.zip"])
def test_zip_never_replaces_other_files(tmp_path: Path, place: str) -> None:
    evaluated_run(tmp_path / "home")
    (tmp_path / "other.zip").write_text("unrelated")

    with pytest.raises(ConflictError, match=r"\.zip (contains something other|is inside the run)"):
        pack(tmp_path / "home", to=(tmp_path / place).with_suffix(""), is_zip=True)

    assert (tmp_path / "other.zip").read_text() == "unrelated"


def test_running_run_is_rejected(tmp_path: Path) -> None:
    run_dir = evaluated_run(tmp_path / "home")

    with run_dir.held(), pytest.raises(ConflictError, match="being written or packed"):
        pack(tmp_path / "home")


def test_unknown_run_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no run 'run-1'"):
        pack(tmp_path / "home")
