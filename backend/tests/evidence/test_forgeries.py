"""What a forger who recomputes every hash, and writes every derived file again, can and cannot change.

Each forgery changes the meaning of a valid, signed bundle. `docs/evidence.md` has the same list.
"""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest
from support.evidence_runs import LOSSES, SilentView, WritingEngine, packed, reseal
from support.forgeries import (
    change,
    change_all,
    change_lines,
    derive,
    forge_answers,
    forge_questions,
    judge_again,
    write_lines,
)
from support.keys import make_keys

from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.records import View
from tunix_rt.engines.training.run import run
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.evidence.replay import Replay
from tunix_rt.evidence.types import CheckName, EvidenceVerdict
from tunix_rt.evidence.verify import verify_evidence

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs" / "evidence.md"

Forge = Callable[[Path], object]
CaughtBy = CheckName | Literal["key"]
"""`replay`: only by training again. `key`: only by the signer's public key."""


@dataclass(frozen=True)
class Forgery:
    """A change of meaning, and the check that catches it."""

    name: str
    caught_by: CaughtBy
    forge: Forge
    derives: bool = True
    """Whether the forger also writes the derived files again: snapshots, summary, headline, Croissant."""


def text(path: str, old: str, new: str) -> Forge:
    """Replace a text that the file contains."""

    def forge(bundle: Path) -> None:
        before = (bundle / path).read_text(encoding="utf-8")
        assert old in before, f"{path} does not contain {old!r}"
        (bundle / path).write_text(before.replace(old, new), encoding="utf-8")

    return forge


def later(value: str, seconds: float) -> str:
    return (datetime.fromisoformat(value) + timedelta(seconds=seconds)).astimezone(UTC).isoformat()


def moved(seconds: float) -> Callable[[dict[str, Any]], None]:
    return lambda line: line.update(time=later(line["time"], seconds))


def updated(path: str, section: str | None = None, **values: Any) -> Forge:
    return change(path, lambda value: (value if section is None else value[section]).update(values))


def both(*forgeries: Forge) -> Forge:
    def forge(bundle: Path) -> None:
        for one in forgeries:
            one(bundle)

    return forge


def figures(**values: Any) -> Forge:
    return change("run_manifest.json", lambda manifest: manifest["figures"].update(values))


def steps(edit: Callable[[dict[str, Any]], object]) -> Forge:
    return change_lines("metrics.jsonl", lambda line: edit(line) if "loss" in line else None)


def drop_line(path: str, number: int) -> Forge:
    def forge(bundle: Path) -> None:
        lines = (bundle / path).read_text(encoding="utf-8").splitlines(keepends=True)
        (bundle / path).write_text("".join(lines[:number] + lines[number + 1 :]), encoding="utf-8")

    return forge


def evaluation_and_request(edit: Callable[[dict[str, Any]], object]) -> Forge:
    return both(change("evaluation.json", edit), change("eval_request.json", edit))


def halve_losses(bundle: Path) -> None:
    steps(lambda line: line.update(loss=line["loss"] / 2))(bundle)
    figures(final_loss=LOSSES[-1] / 2)(bundle)
    log = (bundle / "log.txt").read_text(encoding="utf-8")
    halved = re.sub(r"\| loss (\S+)", lambda found: f"| loss {float(found[1]) / 2:.4f}", log)
    (bundle / "log.txt").write_text(halved, encoding="utf-8")


def halve_validation(bundle: Path) -> None:
    change_lines(
        "metrics.jsonl",
        lambda line: line.update(validation_loss=0.5) if "validation_loss" in line else None,
    )(bundle)
    figures(validation_loss=0.5, best_validation_loss=0.5)(bundle)


def train_question(bundle: Path) -> None:
    forge_questions("What is 9 + 9?", "What is 3 + 7?")(bundle)


def another_evaluation(model: dict[str, Any]) -> None:
    model["weights_hash"] = "a" * 64
    model["weight_files"] = {"model/model.safetensors": "b" * 64}


def other_rules(value: dict[str, Any]) -> None:
    value["protocol"]["extraction"]["rules"] = ["answer-tag"]


def strip_signature(bundle: Path) -> None:
    (bundle / "evidence.sig").unlink()
    (bundle / "evidence.pub").unlink()


def add_log_line(bundle: Path) -> None:
    with (bundle / "log.txt").open("a", encoding="utf-8") as file:
        file.write("done\n")


def resume(bundle: Path) -> None:
    """Claim a resume, after which steps may be missing, and drop a step."""
    first, *rest = (json.loads(line) for line in (bundle / "events.jsonl").read_text().splitlines())
    resumed = first | {"kind": "resumed", "message": "resuming after step 1", "details": {"step": 1}}
    events = [event | {"sequence": number} for number, event in enumerate((first, resumed, *rest))]
    write_lines(bundle / "events.jsonl", events)
    drop_line("metrics.jsonl", 0)(bundle)


RUN, RECIPE, EVALUATION = "run_manifest.json", "recipe.resolved.json", "evaluation.json"
FORGERIES = (
    # Rendered files
    Forgery("another accuracy on the page", "pages", text("evidence.html", "50.0 %", "99.0 %")),
    Forgery("another loss on the page", "pages", text("evidence.html", "1.5", "0.5")),
    Forgery("another result in the RO-Crate", "pages", text("ro-crate-metadata.json", "50.0%", "99.0%")),
    Forgery(
        "another end time in the RO-Crate",
        "pages",
        change("ro-crate-metadata.json", lambda crate: crate["@graph"][2].update(endTime="2020-01-01")),
    ),
    Forgery(
        "another description of a file",
        "pages",
        change("evidence.json", lambda value: value["files"][0].update(proves="The best model.")),
    ),
    Forgery(
        "another headline",
        "figures",
        change("evidence.json", lambda value: value.update(headline="100% of sums right")),
        derives=False,
    ),
    Forgery(
        "another figure in the summary",
        "figures",
        change("eval_summary.json", lambda value: value["primary_score"].update(value=0.99)),
        derives=False,
    ),
    Forgery(
        "another package in the lock file",
        "run",
        text("requirements.lock.txt", "2.0.0", "1.0.0"),
        derives=False,
    ),
    Forgery(
        "another input in the provenance",
        "run",
        text("provenance.intoto.json", "numpy@2.0.0", "numpy@1.0.0"),
        derives=False,
    ),
    # Figures
    Forgery("another final loss", "figures", figures(final_loss=0.1)),
    Forgery("another best step", "figures", figures(best_step=1)),
    Forgery("less memory than the lines", "figures", figures(peak_memory_bytes=10)),
    Forgery("a speed outside that of the lines", "figures", figures(tokens_per_s=1e6)),
    # Recipe against metrics
    Forgery(
        "another learning rate in the recipe", "training", updated(RECIPE, "training", learning_rate=0.1)
    ),
    Forgery("another schedule in the recipe", "training", updated(RECIPE, "training", schedule="linear")),
    Forgery("a warm-up in the recipe", "training", updated(RECIPE, "training", warmup_steps=2)),
    Forgery("more steps in the recipe", "training", updated(RECIPE, "training", num_steps=1000)),
    Forgery("more steps in the manifest", "training", figures(num_steps=1000, num_planned_steps=1000)),
    Forgery(
        "more steps in recipe and manifest",
        "training",
        both(
            change(RECIPE, lambda value: value["training"].update(num_steps=1000)),
            figures(num_steps=1000, num_planned_steps=1000),
        ),
    ),
    Forgery("another batch size in the recipe", "training", updated(RECIPE, "training", batch_size=4)),
    Forgery("another seed in the recipe", "training", updated(RECIPE, "training", seed=7)),
    Forgery(
        "another model in the recipe",
        "training",
        change(RECIPE, lambda value: value["model"].update(name="tiny-gemma")),
    ),
    Forgery("another training mode", "training", change(RUN, lambda value: value.update(mode="lora"))),
    Forgery(
        "an override without an event",
        "training",
        change(
            RECIPE,
            lambda value: value.update(
                overrides=[{"key": "a", "recipe_value": 1, "used_value": 2, "reason": "--set"}]
            ),
        ),
    ),
    Forgery("another plan", "training", change("plan.json", lambda value: value.update(model="tiny-gemma"))),
    # Metrics
    Forgery("another learning rate in the metrics", "training", steps(lambda line: line.update(lr=5e-3))),
    Forgery("a step left out", "training", drop_line("metrics.jsonl", 1)),
    Forgery("a negative loss", "training", steps(lambda line: line.update(loss=-1.0))),
    Forgery(
        "a negative validation loss",
        "training",
        change_lines(
            "metrics.jsonl",
            lambda line: line.update(validation_loss=-1.0) if "validation_loss" in line else None,
        ),
    ),
    Forgery("a negative gradient norm", "training", steps(lambda line: line.update(grad_norm=-1.0))),
    Forgery("zeroed batch hashes", "training", steps(lambda line: line.update(batch_sha256="0" * 64))),
    Forgery("no batch hashes", "training", steps(lambda line: line.pop("batch_sha256"))),
    Forgery("more tokens", "training", steps(lambda line: line.update(tokens=line["tokens"] + 10))),
    Forgery("fewer trained tokens", "training", steps(lambda line: line.update(trained_tokens=1))),
    Forgery("more epochs", "training", steps(lambda line: line.update(epoch=9 * line["epoch"]))),
    Forgery("more examples than the rows have", "training", figures(num_examples=1_000)),
    Forgery(
        "a better first loss than the log",
        "training",
        steps(lambda line: line.update(loss=0.5) if line["step"] == 1 else None),
    ),
    Forgery("a step left out of a run that was never resumed", "training", resume),
    # Times
    Forgery(
        "an end before the start",
        "training",
        change(RUN, lambda value: value.update(finished_at=later(value["started_at"], -3600))),
    ),
    Forgery("steps after the end", "training", steps(moved(3600))),
    Forgery("steps before the start", "training", steps(moved(-3600))),
    Forgery(
        "a step before the one above it",
        "training",
        steps(lambda line: moved(-60)(line) if line["step"] == 2 else None),
    ),
    Forgery("events after the end", "training", change_lines("events.jsonl", moved(3600))),
    Forgery(
        "slower steps than their times",
        "training",
        both(
            steps(lambda line: line.update(tokens_per_s=1.0) if "tokens_per_s" in line else None),
            figures(tokens_per_s=1.0),
        ),
    ),
    Forgery(
        "a longer training than the run",
        "training",
        change(RUN, lambda value: value["durations_s"].update(train=10_000.0)),
    ),
    # Devices and versions
    Forgery(
        "another device",
        "training",
        change("environment.json", lambda value: value.update(device="gpu: 1 x NVIDIA H200")),
    ),
    Forgery(
        "more devices",
        "training",
        change("environment.json", lambda value: value.update(devices=["cpu:0", "cpu:1"])),
    ),
    Forgery(
        "another version of a package",
        "training",
        change("environment.json", lambda value: value["packages"].update(numpy="1.0.0")),
    ),
    Forgery("another engine", "run", change("environment.json", lambda value: value.update(engine="torch"))),
    # How it ended
    Forgery("another exit code", "run", change(RUN, lambda value: value.update(exit_code=3))),
    Forgery("an event left out", "run", drop_line("events.jsonl", 0)),
    Forgery("events of another run", "training", text("events.jsonl", "run run-1", "run run-2")),
    # Dataset
    Forgery("a row left out", "dataset", drop_line("dataset/train.jsonl", 3)),
    Forgery("another dataset hash", "dataset", updated(RUN, dataset_hash="e" * 64)),
    Forgery(
        "another dataset name",
        "dataset",
        both(
            change(RUN, lambda value: value.update(dataset="best-v1")),
            change(RECIPE, lambda value: value["data"].update(dataset="best-v1")),
            evaluation_and_request(lambda value: value["model"].update(dataset="best-v1")),
        ),
    ),
    Forgery(
        "another license in Croissant",
        "dataset",
        change("dataset/croissant.json", lambda value: value.update(license="MIT")),
        derives=False,
    ),
    # Evaluation
    Forgery(
        "other rules than requested",
        "evaluation",
        both(change(EVALUATION, other_rules), judge_again),
    ),
    Forgery(
        "other weights than requested",
        "evaluation",
        change(EVALUATION, lambda value: another_evaluation(value["model"])),
    ),
    Forgery(
        "the evaluation of another model",
        "evaluation",
        evaluation_and_request(lambda value: another_evaluation(value["model"])),
    ),
    Forgery(
        "weights without a hash",
        "evaluation",
        evaluation_and_request(lambda value: value["model"].pop("weights_hash")),
    ),
    Forgery(
        "weights without their files",
        "evaluation",
        evaluation_and_request(lambda value: value["model"].pop("weight_files")),
    ),
    Forgery(
        "the evaluation of another run",
        "evaluation",
        evaluation_and_request(lambda value: value["model"].update(run_id="run-2", name="run-2")),
    ),
    Forgery(
        "the evaluation of another base model",
        "evaluation",
        evaluation_and_request(lambda value: value["model"].update(base_model="tiny-gemma")),
    ),
    Forgery(
        "the evaluation of random weights",
        "evaluation",
        evaluation_and_request(lambda value: value["model"].update(weights="random")),
    ),
    Forgery("another request", "evaluation", updated("eval_request.json", evaluation_id=str(UUID(int=1)))),
    Forgery(
        "the name of a shipped eval set",
        "evaluation",
        evaluation_and_request(lambda value: value.update(evalset="eval_v2")),
    ),
    Forgery("a question that was trained on", "evaluation", train_question),
    Forgery(
        "an evaluation before the training",
        "evaluation",
        evaluation_and_request(lambda value: value.update(created_at=later(value["created_at"], -86_400))),
    ),
    Forgery(
        "an evaluation before its request",
        "evaluation",
        change("eval_request.json", lambda value: value.update(created_at=later(value["created_at"], 3600))),
    ),
    Forgery(
        "an evaluation after the bundle was packed",
        "evaluation",
        change(EVALUATION, lambda value: value.update(created_at=later(value["created_at"], 86_400))),
    ),
    Forgery(
        "another device of the evaluation",
        "evaluation",
        change(EVALUATION, lambda value: value["generation"].update(device="gpu: 1 x NVIDIA H200")),
    ),
    Forgery(
        "a faster evaluation",
        "evaluation",
        change(EVALUATION, lambda value: value["generation"].update(tokens_per_s=9e9)),
    ),
    Forgery(
        "a longer generation than the evaluation",
        "evaluation",
        both(
            change_lines("eval_log.jsonl", lambda line: line.update(seconds=3600.0)),
            change(EVALUATION, lambda value: value["generation"].update(seconds=3600.0, tokens_per_s=0.0)),
        ),
    ),
    Forgery("fewer questions", "evaluation", change(EVALUATION, lambda value: value.update(num_items=1))),
    Forgery(
        "more tokens than the limit",
        "evaluation",
        change_lines("predictions.jsonl", lambda line: line["generation"].update(num_new_tokens=99_999)),
    ),
    # Scores
    Forgery("another verdict", "scores", text("predictions.jsonl", '"wrong"', '"correct"')),
    Forgery("another answer", "scores", text("predictions.jsonl", "<answer>18", "<answer>17")),
    Forgery("an answer left out", "scores", drop_line("predictions.jsonl", 1)),
    Forgery(
        "another score", "scores", change(EVALUATION, lambda value: value["scores"].update(primary_score=1.0))
    ),
    # Signature
    Forgery("the signature removed", "signature", strip_signature),
    # Consistent inventions
    Forgery("all losses halved", "replay", halve_losses),
    Forgery("the validation losses halved", "key", halve_validation),
    Forgery("other gradient norms", "key", steps(lambda line: line.update(grad_norm=0.1))),
    Forgery("a right answer written for a wrong one", "key", forge_answers),
    Forgery(
        "other questions of an own eval set", "key", forge_questions("What is 9 + 9?", "What is 80 + 90?")
    ),
    Forgery("a line of the log", "key", add_log_line),
    Forgery("another commit", "key", updated("environment.json", commit="f" * 40)),
    Forgery("another system", "key", updated("environment.json", platform="TPU VM")),
    Forgery(
        "another device, in the log too",
        "key",
        change_all(("environment.json", "log.txt"), "cpu: 1 x cpu", "gpu: 1 x NVIDIA H200"),
    ),
    Forgery(
        "another device of the evaluation, in its log too",
        "key",
        change_all((EVALUATION, "eval_log.jsonl"), "cpu: 1 x cpu", "gpu: 1 x NVIDIA H200"),
    ),
)


def train_again(engine: str, job: TrainingJob, view: View) -> RunManifest:
    assert engine == "fake"
    return run(WritingEngine(), job, view)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("signed")
    private, _ = make_keys(root, "owner")
    packed(root / "home", root / "bundle", private_key=private)
    return root


def failed(verdict: EvidenceVerdict) -> set[str]:
    return {check.name for check in verdict.checks if check.status == "failed"}


def strip(bundle: Path) -> None:
    """Remove the signature and its mention, as a forger without the key must."""
    strip_signature(bundle)
    change("evidence.json", lambda value: value.pop("signer"))(bundle)


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_forgery_is_caught_as_documented(signed: Path, tmp_path: Path, forgery: Forgery) -> None:
    bundle = Path(shutil.copytree(signed / "bundle", tmp_path / "bundle"))
    if forgery.caught_by != "signature":
        strip(bundle)
    forgery.forge(bundle)
    if forgery.derives:
        derive(bundle)
    reseal(bundle, renders=forgery.caught_by != "pages")

    verdict = verify_evidence(bundle)

    assert {"files", "manifest", "sums", "contents"}.isdisjoint(failed(verdict)), verdict.problems
    if forgery.caught_by in ("key", "replay"):
        assert verdict.passed, verdict.problems
        replay = Replay(1, train_again, SilentView())
        is_replayed = verify_evidence(bundle, replay=replay).passed
        assert is_replayed == (forgery.caught_by == "key")
    else:
        assert forgery.caught_by in failed(verdict), verdict.problems
    assert "signature" in failed(verify_evidence(bundle, public_key=signed / "owner.pub"))


def test_honest_bundle_survives_the_forgers_tools(signed: Path, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(signed / "bundle", tmp_path / "bundle"))
    strip(bundle)
    derive(bundle)
    reseal(bundle)

    verdict = verify_evidence(bundle, replay=Replay(1, train_again, SilentView()))

    assert verdict.passed, verdict.problems
    assert verdict.shown == ("consistent", "replayed (1 step)", "not signed")


def test_faster_speeds_than_the_times_are_caught(tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(ROOT / "submission_runs" / "demo_cpu", tmp_path / "bundle"))
    steps(lambda line: line.update(tokens_per_s=10 * line["tokens_per_s"]))(bundle)
    faster = json.loads((bundle / RUN).read_bytes())["figures"]["tokens_per_s"] * 10
    figures(tokens_per_s=faster)(bundle)
    derive(bundle)
    reseal(bundle)

    assert "training" in failed(verify_evidence(bundle))


def test_committed_pages_are_compared(tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(ROOT / "submission_runs" / "demo_cpu", tmp_path / "bundle"))
    text("evidence.html", "98.1", "99.9")(bundle)
    reseal(bundle, renders=False)

    assert "pages" in failed(verify_evidence(bundle))


def test_documented_table_is_this_list() -> None:
    documented = dict(re.findall(r"^\| (.+?) \| `(\w+)` \|$", DOCS.read_text(encoding="utf-8"), re.M))

    assert documented == {forgery.name: forgery.caught_by for forgery in FORGERIES}
    assert len(FORGERIES) >= 40
