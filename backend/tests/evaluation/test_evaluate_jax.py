"""End-to-end evaluations of a tiny model with the JAX engine: record, run copy, resuming, errors."""

import json
import shutil
import subprocess
from pathlib import Path

import jax
import pytest
from support.evaluating import (
    GREEDY,
    SAMPLED,
    CountingEngine,
    EvaluationWorkspace,
    Interrupting,
    Watcher,
    make_evaluation_workspace,
)
from support.evaluation_starts import sum_items, write_evalset
from support.run_dirs import finished_run
from support.small_disk import small_disk_in
from support.training import TrainingWorkspace
from typer.testing import CliRunner

from tunix_rt.base.errors import ConflictError, DataError, DeviceError, NotFoundError
from tunix_rt.cli.main import app
from tunix_rt.datasets.files import file_sha256
from tunix_rt.engines.jax.model.lora import init_adapters
from tunix_rt.engines.jax.weights import save_adapters
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Evaluation
from tunix_rt.recipes.types import LoraSection, ModelSection
from tunix_rt.tokenization.chat_template import choose_template, save_tokenizer
from tunix_rt.tokenization.tokenizer import load_tokenizer

RANDOM = {"weights": "random"}


@pytest.fixture(scope="module")
def env(workspace: TrainingWorkspace) -> EvaluationWorkspace:
    workspace.train("runs/trained")
    return make_evaluation_workspace(workspace)


@pytest.fixture(scope="module")
def run(env: EvaluationWorkspace) -> Path:
    return env.workspace.root / "runs" / "trained"


@pytest.fixture(scope="module")
def evaluated(env: EvaluationWorkspace, run: Path) -> tuple[Evaluation, Watcher]:
    """A finished evaluation of the run in the directory "evaluated", and what its view received."""
    view = Watcher()
    return env.evaluate(run, "evaluated", view=view), view


def test_evaluation_records_run_and_scores(
    env: EvaluationWorkspace, evaluated: tuple[Evaluation, Watcher]
) -> None:
    evaluation, view = evaluated
    assert evaluation.model.run_id == "trained"
    assert (evaluation.model.base_model, evaluation.model.dataset) == ("tiny-llama", "demo-v1")
    assert evaluation.num_items == 5
    assert evaluation.scores.overall.num_scored == 5
    assert evaluation.scores.overall.format_adherence is not None
    assert evaluation.fingerprint == evaluation.protocol.fingerprint
    assert evaluation.generation is not None
    assert evaluation.generation.engine == "jax"
    assert evaluation.generation.precision == "float32"
    assert view.progress[-1].num_done == view.progress[-1].num_total == 5
    assert env.directory("evaluated").read_evaluation() == evaluation


@pytest.mark.usefixtures("evaluated")
def test_predictions_follow_item_order(env: EvaluationWorkspace) -> None:
    predictions = list(env.directory("evaluated").read_predictions())
    assert [prediction.item_id for prediction in predictions] == [f"sum-{n}" for n in range(5)]
    for prediction in predictions:
        generation = prediction.generation
        assert generation.num_prompt_tokens > 0
        assert 0 < generation.num_reasoning_tokens <= generation.num_new_tokens <= 24
        assert (generation.finish == "cut-off") == (generation.num_new_tokens == 24)


def test_run_manifest_lists_evaluation_copy(env: EvaluationWorkspace, run: Path) -> None:
    evaluation = env.evaluate(run, "copied")
    files = json.loads((run / "run_manifest.json").read_text())["files"]
    for name in ("predictions.jsonl", "evaluation.json"):
        assert (run / name).read_bytes() == (env.workspace.root / "copied" / name).read_bytes()
        assert files[name] == file_sha256(run / name)
    assert files["predictions.jsonl"] == evaluation.predictions_hash
    assert all(file_sha256(run / name) == digest for name, digest in files.items())


def test_read_only_run_gets_no_copy(env: EvaluationWorkspace, run: Path, tmp_path: Path) -> None:
    with small_disk_in(tmp_path, megabytes=64) as disk:
        shutil.copytree(run, disk / "run", ignore=shutil.ignore_patterns("checkpoints"))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        view = Watcher()
        evaluation = env.evaluate(disk / "run", "read-only", view=view)
    assert evaluation.model.run_id == "run"
    assert "the run gets no copy" in view.lines[-1]


def test_database_stores_evaluation_and_predictions(
    env: EvaluationWorkspace, evaluated: tuple[Evaluation, Watcher]
) -> None:
    evaluation, _ = evaluated
    store = env.store()
    try:
        assert EvaluationRepository(store.database).get(evaluation.evaluation_id) == evaluation
        stored = list(EvaluationRepository(store.database).iter_predictions(evaluation.evaluation_id))
    finally:
        store.close()
    assert stored == list(env.directory("evaluated").read_predictions())


@pytest.mark.parametrize("decoding", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_resumed_evaluation_equals_uninterrupted(
    env: EvaluationWorkspace, run: Path, decoding: Decoding
) -> None:
    kind = f"temperature-{decoding.temperature}"
    env.evaluate(run, f"uninterrupted-{kind}", decoding=decoding)
    with pytest.raises(KeyboardInterrupt):
        env.evaluate(run, f"interrupted-{kind}", decoding=decoding, view=Interrupting(after=2))
    directory = env.directory(f"interrupted-{kind}")
    kept = set(directory.read_generations())
    assert kept
    with directory.generations.open("ab") as file:
        file.write(b'{"item_id": "sum-4", "te')  # the partial line of a killed process
    engine, view = CountingEngine(), Watcher()
    env.evaluate(run, f"interrupted-{kind}", decoding=decoding, view=view, engine=engine)
    all_keys = {(f"sum-{n}", sample) for n in range(5) for sample in range(decoding.num_samples)}
    assert set(engine.asked) == all_keys - kept
    assert f"{len(kept)} of {len(all_keys)} texts are done" in view.lines[0]
    assert env.predictions(f"interrupted-{kind}") == env.predictions(f"uninterrupted-{kind}")


def test_unfinished_default_output_is_resumed(env: EvaluationWorkspace) -> None:
    """Without an output, an unfinished evaluation in the home directory is resumed."""
    options = {**RANDOM, "weights_seed": 11}
    with pytest.raises(KeyboardInterrupt):
        env.evaluate("tiny-llama", view=Interrupting(after=1), **options)
    [unfinished] = env.settings.evaluations_dir.iterdir()
    evaluation = env.evaluate("tiny-llama", **options)
    assert str(evaluation.evaluation_id) == unfinished.name
    repeated = env.evaluate("tiny-llama", **options)
    assert repeated.evaluation_id != evaluation.evaluation_id
    assert repeated.predictions_hash == evaluation.predictions_hash


def test_completed_directory_is_stored_after_crash(env: EvaluationWorkspace) -> None:
    """A crash before the database write leaves a complete directory."""
    options = {**RANDOM, "weights_seed": 12}
    evaluation = env.evaluate("tiny-llama", **options)
    store = env.store()
    EvaluationRepository(store.database).delete(evaluation.evaluation_id)
    store.close()
    engine = CountingEngine()
    assert env.evaluate("tiny-llama", engine=engine, **options) == evaluation
    assert engine.asked == []


def test_random_weights_depend_on_seed(env: EvaluationWorkspace) -> None:
    first, again, other = (
        env.evaluate("tiny-llama", f"seed-{number}", weights_seed=seed, **RANDOM)
        for number, seed in enumerate((1, 1, 2))
    )
    assert (first.model.weights, first.model.seed) == ("random", 1)
    assert first.predictions_hash == again.predictions_hash != other.predictions_hash
    assert not first.model.is_trained_here


@pytest.mark.usefixtures("evaluated")
def test_output_of_different_evaluation_is_refused(env: EvaluationWorkspace, run: Path) -> None:
    with pytest.raises(ConflictError, match=r"Different: decoding\.max_new_tokens: 24 / 8"):
        env.evaluate(run, "evaluated", decoding=Decoding(max_new_tokens=8))
    with pytest.raises(ConflictError, match=r"model\.name"):
        env.evaluate("tiny-llama", "evaluated", **RANDOM)


def test_unrelated_output_directory_is_refused(env: EvaluationWorkspace, run: Path) -> None:
    (env.workspace.root / "full").mkdir()
    (env.workspace.root / "full" / "notes.txt").write_text("mine")
    with pytest.raises(ConflictError, match="is not empty and holds no evaluation"):
        env.evaluate(run, "full")
    assert (env.workspace.root / "full" / "notes.txt").read_text() == "mine"


def test_concurrent_writer_is_refused(env: EvaluationWorkspace, run: Path) -> None:
    with (
        EvaluationDir(env.workspace.root / "held").held(),
        pytest.raises(ConflictError, match="Another process"),
    ):
        env.evaluate(run, "held")


def test_resume_refuses_different_precision(env: EvaluationWorkspace, run: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        env.evaluate(run, "precise", view=Interrupting(after=1))
    with pytest.raises(ConflictError, match="written in float32, new ones would be in bfloat16"):
        env.evaluate(run, "precise", precision="bfloat16")


def test_failed_prompts_are_unscored(env: EvaluationWorkspace, run: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(run / "model", model)
    template = (model / "chat_template.jinja").read_text()
    refusal = "{% if 'refuse' in messages[0].content %}{{ raise_exception('never') }}{% endif %}"
    (model / "chat_template.jinja").write_text(refusal + template)
    items = list(sum_items(3))
    items[0] = items[0].model_copy(update={"prompt": "Do refuse me."})
    items[1] = items[1].model_copy(update={"prompt": "word " * 4_000})
    evalset = write_evalset(tmp_path / "hard.jsonl", items)
    evaluation = env.evaluate(model, "failing", evalset=str(evalset))
    assert evaluation.model.origin == "directory"
    assert evaluation.scores.failures == {"prompt-refused": 1, "prompt-too-long": 1}
    assert (evaluation.scores.overall.num_scored, evaluation.scores.overall.num_unscored) == (1, 2)
    refused, _, completed = env.directory("failing").read_predictions()
    assert refused.judgement.verdict == "unscored"
    assert refused.generation.text is None
    assert refused.generation.failure is not None
    assert "never" in refused.generation.failure.detail
    assert completed.generation.text is not None


def test_adapter_uses_its_random_base_weights(env: EvaluationWorkspace) -> None:
    """The base weights of an adapter come from the seed of its run."""
    run_dir = finished_run(env.workspace.root / "runs" / "adapter", is_adapter=True, markup="reasoning")
    source = resolve_model(ModelSection(name="tiny-llama", weights="random"))
    lora = LoraSection(rank=2)
    # B = 0: the adapter changes nothing.
    unchanged = init_adapters(source.architecture, lora, jax.random.key(0))
    save_adapters(run_dir.model, unchanged, lora, base_model="tiny-llama")
    tokenizer = load_tokenizer("tiny")
    save_tokenizer(run_dir.model, tokenizer, choose_template(tokenizer), max_positions=2048)
    evaluation = env.evaluate(run_dir.path, "adapted")
    assert evaluation.model.is_adapter
    assert evaluation.model.weights_hash is not None
    base = env.evaluate("tiny-llama", "its-base", weights_seed=5, **RANDOM)
    assert evaluation.predictions_hash == base.predictions_hash
    assert evaluation.fingerprint == base.fingerprint


def test_failed_start_leaves_no_directory(env: EvaluationWorkspace, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no model 'base'"):
        env.evaluate("base", "nothing")
    with pytest.raises(NotFoundError, match="no eval set file"):
        env.evaluate("tiny-llama", "nothing", evalset="missing.jsonl", **RANDOM)
    duplicates = write_evalset(tmp_path / "bad.jsonl", [*sum_items(1), *sum_items(1)])
    with pytest.raises(DataError, match="line 2: id 'sum-0' is also on line 1"):
        env.evaluate("tiny-llama", "nothing", evalset=str(duplicates), **RANDOM)
    assert not (env.workspace.root / "nothing").exists()


def test_model_without_tokenizer_is_refused(env: EvaluationWorkspace, run: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(run / "model", model)
    (model / "tokenizer.json").unlink()
    with pytest.raises(NotFoundError, match=r"no tokenizer\.json"):
        env.evaluate(model, "untokenized")
    assert not (env.workspace.root / "untokenized").exists()


def test_missing_device_exits_with_4(env: EvaluationWorkspace, run: Path) -> None:
    with pytest.raises(DeviceError) as refused:
        env.evaluate(run, "elsewhere", device=DeviceRequest("gpu"))
    assert refused.value.exit_code == 4
    assert not (env.workspace.root / "elsewhere").exists()


def test_unscored_evaluation_exits_with_1(
    env: EvaluationWorkspace, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNIX_RT_HOME", str(env.settings.home_dir))
    [item] = sum_items(1)
    long = write_evalset(tmp_path / "long.jsonl", [item.model_copy(update={"prompt": "so " * 3_000})])
    flags = ["--eval-set", str(long), "--device", "cpu", "--output", str(tmp_path / "long")]
    result = CliRunner().invoke(app, ["eval", str(run), *flags])
    assert result.exit_code == 1, result.output
    assert "1 x prompt-too-long" in result.stdout
    assert "nothing could be scored" in result.stderr
    assert (tmp_path / "long" / "evaluation.json").is_file()
