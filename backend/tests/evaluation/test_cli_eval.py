"""Commands for stored evaluations, with text and JSON output. No model runs here."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from support.evaluation_starts import sum_generation, sum_items, write_evalset
from support.evaluations import write_evaluation
from typer.testing import CliRunner, Result

from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, NotFoundError
from tunix_rt.base.settings import Settings
from tunix_rt.cli.main import app
from tunix_rt.datasets.types import EvalItem, evalset_hash
from tunix_rt.evaluation.types import Evaluation

ITEMS = sum_items(3)


@pytest.fixture(autouse=True)
def _store(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every command on this test's database."""
    if settings.database_url is not None:
        monkeypatch.setenv("TUNIX_RT_DATABASE_URL", settings.database_url)


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["eval", *map(str, arguments)])


def run(*arguments: str | Path) -> str:
    """The text output of a command."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def run_json(*arguments: str | Path) -> Any:
    """The JSON output of a command."""
    return json.loads(run(*arguments, "--json"))


@pytest.fixture
def evaluation_dir(tmp_path: Path) -> Path:
    return tmp_path / "model-a"


@pytest.fixture
def evaluation(evaluation_dir: Path) -> Evaluation:
    """Three items: two correct, one wrong."""
    return write_evaluation(evaluation_dir, "110")


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    """External predictions for three sums; the last is wrong."""
    lines = [
        {"trace_id": item.id, "prediction": sum_generation(item, answer=answer).text}
        for item, answer in zip(ITEMS, ("7", "8", "1"), strict=True)
    ]
    path = tmp_path / "gpt.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.fixture
def evalset(tmp_path: Path) -> Path:
    return write_evalset(tmp_path / "sums.jsonl", ITEMS)


def test_add_list_show_and_remove(evaluation: Evaluation, evaluation_dir: Path) -> None:
    short = str(evaluation.evaluation_id)[:8]
    assert str(evaluation.evaluation_id) in run("add", evaluation_dir)
    [listed] = run_json("list")
    assert listed["evaluation_id"] == str(evaluation.evaluation_id)
    assert short in run("list", "--model", "model-a")
    assert run_json("list", "--model", "another") == []
    assert run_json("show", short) == evaluation.to_json()
    assert "removed" in run("rm", short)
    assert run_json("list") == []
    assert "Create one: tunix-rt eval MODEL" in run("list")
    assert isinstance(invoke("show", short).exception, NotFoundError)


def test_show_prints_scores_and_examples(evaluation: Evaluation, evaluation_dir: Path) -> None:
    shown = run("show", evaluation_dir)
    assert "66.7%" in shown
    assert "n = 3" in shown
    assert "format adherence" in shown
    assert "Example of a correct answer (item-0)" in shown
    assert "Example of a wrong answer (item-2)" in shown
    assert "Next: tunix-rt eval items" in shown


def test_items_filter_and_show_one(evaluation: Evaluation, evaluation_dir: Path) -> None:
    assert [line["item_id"] for line in run_json("items", evaluation_dir)] == ["item-0", "item-1", "item-2"]
    [wrong] = run_json("items", evaluation_dir, "--verdict", "wrong")
    assert wrong["item_id"] == "item-2"
    assert run_json("items", evaluation_dir, "--section", "edge_case") == []
    shown = run("items", evaluation_dir, "--item", "item-0")
    assert "<reasoning>" in shown
    assert "confirmed" in shown
    assert isinstance(invoke("items", evaluation_dir, "--item", "nothing").exception, NotFoundError)


def test_external_predictions_are_scored(predictions: Path, evalset: Path) -> None:
    record = run_json("score", "--predictions", predictions, "--eval-set", evalset)
    assert record["scores"]["primary_score"] == pytest.approx(2 / 3)
    assert record["model"] == {
        "name": "gpt",
        "origin": "predictions",
        "weights": "pretrained",
        "is_adapter": False,
    }
    assert "generation" not in record
    assert record["protocol"]["template_hash"] == ""
    assert Path(record["directory"], "predictions.jsonl").is_file()
    assert run_json("show", record["evaluation_id"])["scores"] == record["scores"]


def test_predictions_must_match_eval_set(predictions: Path, evalset: Path) -> None:
    extra = '\n{"id": "sum-0", "text": "8"}\n{"id": 5, "text": "8"}\n{"id": "x"}\n[]\n'
    predictions.write_text(predictions.read_text() + extra)
    error = invoke("score", "--predictions", predictions, "--eval-set", evalset).exception
    assert isinstance(error, DataError)
    assert "line 4: a second text for 'sum-0'" in error.detail
    assert "line 5: no item" in error.detail
    assert "line 6: no text" in error.detail
    assert "line 7: " in error.detail
    predictions.write_text('{"id": "sum-0", "text": "8"}\n{"id": "sum-9", "text": "8"}\n')
    error = invoke("score", "--predictions", predictions, "--eval-set", evalset).exception
    assert isinstance(error, DataError)
    assert "no text for 'sum-1'" in error.detail
    assert "no item 'sum-9'" in error.detail


def test_arbitrary_text_is_stored_and_exported(predictions: Path, evalset: Path, tmp_path: Path) -> None:
    text = "nul \x00 escape \x1b[2J emoji 🙈 no character \ufffd\nline <answer>7</answer>"
    predictions.write_text("\n".join(json.dumps({"id": item.id, "text": text}) for item in ITEMS))
    record = run_json("score", "--predictions", predictions, "--eval-set", evalset)
    assert run_json("items", record["evaluation_id"])[0]["generation"]["text"] == text
    assert "\x1b" not in run("show", record["evaluation_id"])
    exported = Path(run_json("export", record["evaluation_id"], "--to", tmp_path)["samples"])
    assert json.loads(exported.read_text(encoding="utf-8").splitlines()[0])["resps"] == [[text]]


def test_lone_surrogate_is_rejected(predictions: Path, evalset: Path) -> None:
    predictions.write_text('{"id": "sum-0", "text": "half \\ud83d"}')
    assert isinstance(
        invoke("score", "--predictions", predictions, "--eval-set", evalset).exception, DataError
    )


def test_rescore_creates_new_evaluation(predictions: Path, evalset: Path) -> None:
    original = run_json("score", "--predictions", predictions, "--eval-set", evalset)
    rescored = run_json("rescore", original["evaluation_id"])
    assert rescored["rescored_from"] == original["evaluation_id"] != rescored["evaluation_id"]
    assert rescored["num_changed_verdicts"] == 0
    assert rescored["predictions_hash"] == original["predictions_hash"]
    assert rescored["fingerprint"] == original["fingerprint"]
    assert "0 verdicts changed" in run("rescore", original["evaluation_id"])


def test_rescore_replaces_outdated_verdicts(evaluation_dir: Path) -> None:
    write_evaluation(evaluation_dir, "000")  # the predictions answer 17, the expected answer is 18
    changed = (evaluation_dir / "predictions.jsonl").read_text().replace("<answer>17<", "<answer>18<")
    evaluation = json.loads((evaluation_dir / "evaluation.json").read_text())
    (evaluation_dir / "predictions.jsonl").write_text(changed)
    items = [json.loads(line) for line in (evaluation_dir / "items.jsonl").read_text().splitlines()]
    evaluation["predictions_hash"] = hashlib.sha256(changed.encode()).hexdigest()
    evaluation["protocol"]["evalset_hash"] = evalset_hash(map(EvalItem.model_validate, items))
    (evaluation_dir / "evaluation.json").write_text(json.dumps(evaluation))
    rescored = run_json("rescore", evaluation_dir)
    assert rescored["num_changed_verdicts"] == 3
    assert rescored["scores"]["primary_score"] == 1.0
    assert rescored["protocol"]["versions"] != evaluation["protocol"]["versions"]


def test_rescore_requires_items_file(settings: Settings, predictions: Path, evalset: Path) -> None:
    original = run_json("score", "--predictions", predictions, "--eval-set", evalset)
    (settings.evaluations_dir / original["evaluation_id"] / "items.jsonl").unlink()
    error = invoke("rescore", original["evaluation_id"]).exception
    assert isinstance(error, ConflictError)
    assert "items.jsonl" in error.next_step


def test_export_matches_harness_format(predictions: Path, evalset: Path, tmp_path: Path) -> None:
    record = run_json("score", "--predictions", predictions, "--eval-set", evalset)
    files = run_json("export", record["evaluation_id"], "--to", tmp_path / "exported")
    samples = [json.loads(line) for line in Path(files["samples"]).read_text().splitlines()]
    assert Path(files["samples"]).name.startswith("samples_sums_")
    assert [sample["doc_id"] for sample in samples] == [0, 1, 2]
    assert [sample["exact_match"] for sample in samples] == [1.0, 1.0, 0.0]
    first = samples[0]
    assert first["target"] == "7"
    assert first["filtered_resps"] == ["7"]
    assert first["resps"][0][0].endswith("<answer>7</answer>")
    assert first["arguments"]["gen_args_0"]["arg_0"] == ITEMS[0].prompt
    assert first["prompt_hash"] == hashlib.sha256(ITEMS[0].prompt.encode()).hexdigest()
    results = json.loads(Path(files["results"]).read_text())
    assert results["results"]["sums"]["exact_match,extracted"] == pytest.approx(2 / 3)
    assert results["n-samples"]["sums"] == {"original": 3, "effective": 3}


def test_export_omits_score_of_unscored_item(evaluation_dir: Path, tmp_path: Path) -> None:
    write_evaluation(evaluation_dir, ["11", "1?", "??"])
    files = run_json("export", evaluation_dir, "--to", tmp_path)
    samples = [json.loads(line) for line in Path(files["samples"]).read_text().splitlines()]
    assert [sample.get("exact_match") for sample in samples] == [1.0, 1.0, None]
    assert [len(sample["resps"][0]) for sample in samples] == [2, 2, 2]


def test_add_refuses_modified_predictions(evaluation: Evaluation, evaluation_dir: Path) -> None:
    with (evaluation_dir / "predictions.jsonl").open("a") as file:
        file.write("\n")
    assert isinstance(invoke("add", evaluation_dir).exception, DataError)


def test_eval_accepts_model_or_subcommand() -> None:
    assert isinstance(invoke("nothing-like-it", "--eval-set", "eval_v2").exception, NotFoundError)
    assert "MODEL" in invoke("run", "--help").stdout
    assert "rescore" in invoke("--help").stdout
    assert invoke("some-model").exit_code == 2  # no --eval-set


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--num-samples", "4"), "num_samples above 1 needs a temperature above 0"),
        (("--top-p", "0.5"), "top_p needs a temperature above 0"),
        (("--top-p", "0", "--temperature", "1"), "top_p: Input should be greater than 0"),
    ],
)
def test_invalid_sampling_options_are_rejected(flags: tuple[str, ...], reason: str) -> None:
    error = invoke("tiny-llama", "--weights", "random", "--eval-set", "eval_v2", *flags).exception
    assert isinstance(error, InvalidInputError)
    assert reason in error.detail


def test_user_evalset_is_found_by_name(settings: Settings, predictions: Path) -> None:
    settings.evalsets_dir.mkdir(parents=True)
    write_evalset(settings.evalsets_dir / "mine.jsonl", ITEMS)
    validated = CliRunner().invoke(app, ["data", "validate", "mine", "--json"])
    assert validated.exit_code == 0, validated.output
    assert json.loads(validated.stdout)["num_items"] == 3
    assert run_json("score", "--predictions", predictions, "--eval-set", "mine")["evalset"] == "mine"
