"""A training with bad input explains the error and exits with its exit code."""

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import pytest
from support.datasets import build, sums
from support.training import TrainingWorkspace

from tunix_rt.base.assets import shipped_model_config, shipped_tokenizer_dir
from tunix_rt.cli.main import main
from tunix_rt.engines.jax.model.params import init_params
from tunix_rt.engines.jax.weights import save_params
from tunix_rt.engines.weights.architecture import architecture_from_config

CONFIG, DATA, DEVICE = 2, 3, 4


@pytest.fixture(scope="module")
def workspace_with_models(workspace: TrainingWorkspace) -> TrainingWorkspace:
    """The workspace with a one-example dataset, a model, and a tokenizer whose template drops the answer."""
    build(
        workspace.settings.home_dir, sums(1), dataset_name="single", splits={"train": 0.5, "validation": 0.5}
    )
    write_model(workspace.root / "model")
    write_tokenizer(workspace.root / "silent", template="{{ messages[0]['content'] }}")
    return workspace


def write_model(directory: Path) -> None:
    config = shipped_model_config("tiny-llama")
    architecture = architecture_from_config(config)
    directory.mkdir()
    save_params(directory, init_params(architecture, jax.random.key(0), "float32"), architecture)
    (directory / "config.json").write_text(json.dumps(config))
    for path in shipped_tokenizer_dir("tiny").iterdir():
        shutil.copy(path, directory)


def write_tokenizer(directory: Path, *, template: str) -> None:
    shutil.copytree(shipped_tokenizer_dir("tiny"), directory)
    (directory / "chat_template.jinja").write_text(template)


def copy_model(workspace: TrainingWorkspace, name: str) -> Path:
    return Path(shutil.copytree(workspace.root / "model", workspace.root / name))


@dataclass(frozen=True)
class TrainCommand:
    """Runs `tunix-rt train` commands that must fail, in this process."""

    workspace: TrainingWorkspace
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def expect_failure(self, output: str, *sets: str, flags: Sequence[str] = ()) -> tuple[int, str]:
        """Run a failing training, and return its exit code and stderr."""
        options = [word for text in sets for word in ("--set", text)]
        command = self.workspace.command(output, *options, *flags)
        self.monkeypatch.setenv("TUNIX_RT_HOME", str(self.workspace.settings.home_dir))
        self.monkeypatch.setattr(sys, "argv", ["tunix-rt", *command])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, " ".join(self.capsys.readouterr().err.split())

    def expect_rejection(self, *sets: str, flags: Sequence[str] = ()) -> tuple[int, str]:
        """Run a training that fails before it creates its directory, and return the same."""
        outcome = self.expect_failure("refused", *sets, flags=flags)
        assert not (self.workspace.root / "refused").exists()
        return outcome


@pytest.fixture
def train(
    workspace_with_models: TrainingWorkspace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> TrainCommand:
    return TrainCommand(workspace_with_models, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("sets", "code", "message"),
    [
        (["training.num_stepz=1"], CONFIG, "did you mean training.num_steps"),
        (["data.dataset=nothing-v1"], CONFIG, "nothing-v1"),
        (["data.split=test"], CONFIG, "test"),
        (["model.name=tiny-gema"], CONFIG, "tiny-gemma"),
        (["model.weights=pretrained"], CONFIG, "random"),
        (["sharding.fsdp=3"], CONFIG, "cannot be built from 1 device"),
        (["training.attention=splash"], CONFIG, "splash"),
        (["training.mode=qlora", "quantization.format=int8", "quantization.block_size=48"], CONFIG, "48"),
        (["data.dataset=single-v1", "data.split=validation"], DATA, "no example"),
        (["data.row_length=32"], DATA, "longer than the row length 32"),
        (["data.row_length=8", "data.overlong=drop"], DATA, "8"),
    ],
    ids=str,
)
def test_invalid_recipe_writes_nothing(train: TrainCommand, sets: list[str], code: int, message: str) -> None:
    exit_code, stderr = train.expect_rejection(*sets)
    assert exit_code == code, stderr
    assert message in stderr


def test_missing_device_exit_code(train: TrainCommand) -> None:
    code, stderr = train.expect_rejection(flags=("--device", "tpu"))
    assert code == DEVICE
    assert {"jax": "Kaggle", "torch": "--engine jax"}[train.workspace.engine] in stderr


def test_template_without_answer_is_rejected(train: TrainCommand) -> None:
    code, stderr = train.expect_rejection(f"model.tokenizer={train.workspace.root / 'silent'}")
    assert code == DATA, stderr


def test_too_small_vocabulary_is_rejected(train: TrainCommand) -> None:
    model = copy_model(train.workspace, "small-vocabulary")
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"vocab_size": 512}))
    code, stderr = train.expect_rejection(f"model.name={model}")
    assert code == DATA, stderr
    assert "512" in stderr


def test_truncated_weights_fail_run(train: TrainCommand) -> None:
    model = copy_model(train.workspace, "cut-off")
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    code, stderr = train.expect_failure("failed", f"model.name={model}", "model.weights=pretrained")
    assert code == DATA, stderr
    assert "model.safetensors" in stderr
    manifest = train.workspace.manifest("failed")
    assert (manifest["status"], manifest["exit_code"]) == ("failed", DATA)
