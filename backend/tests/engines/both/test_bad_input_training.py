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
from support.training import Workshop

from tunix_rt.base.assets import shipped_model_config, shipped_tokenizer_dir
from tunix_rt.cli.main import main
from tunix_rt.engines.jax.model.params import init_params
from tunix_rt.engines.jax.weights import save_params
from tunix_rt.engines.weights.architecture import architecture_from_config

CONFIG, DATA, DEVICE = 2, 3, 4


@pytest.fixture(scope="module")
def stocked(workshop: Workshop) -> Workshop:
    """The workshop with models and tokenizers that something is wrong with."""
    build(
        workshop.settings.home_dir, sums(1), dataset_name="single", splits={"train": 0.5, "validation": 0.5}
    )
    write_model(workshop.root / "model")
    write_tokenizer(workshop.root / "silent", template="{{ messages[0]['content'] }}")
    return workshop


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


def copy_of_the_model(workshop: Workshop, name: str) -> Path:
    return Path(shutil.copytree(workshop.root / "model", workshop.root / name))


@dataclass(frozen=True)
class Bench:
    """Runs commands that must fail, in this process."""

    workshop: Workshop
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def fails(self, output: str, *sets: str, flags: Sequence[str] = ()) -> tuple[int, str]:
        """Exit code and words of a training."""
        options = [word for text in sets for word in ("--set", text)]
        command = self.workshop.command(output, *options, *flags)
        self.monkeypatch.setenv("TUNIX_RT_HOME", str(self.workshop.settings.home_dir))
        self.monkeypatch.setattr(sys, "argv", ["tunix-rt", *command])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, " ".join(self.capsys.readouterr().err.split())

    def is_refused(self, *sets: str, flags: Sequence[str] = ()) -> tuple[int, str]:
        """The same for a training that never starts: there is no directory of it."""
        outcome = self.fails("refused", *sets, flags=flags)
        assert not (self.workshop.root / "refused").exists()
        return outcome


@pytest.fixture
def bench(stocked: Workshop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(stocked, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("sets", "code", "words"),
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
def test_what_cannot_be_trained_is_refused_before_anything_is_written(
    bench: Bench, sets: list[str], code: int, words: str
) -> None:
    exit_code, said = bench.is_refused(*sets)
    assert exit_code == code, said
    assert words in said


def test_a_device_that_is_not_there_has_its_own_exit_code(bench: Bench) -> None:
    code, said = bench.is_refused(flags=("--device", "tpu"))
    assert code == DEVICE
    assert {"jax": "Kaggle", "torch": "--engine jax"}[bench.workshop.engine] in said


def test_a_template_that_leaves_the_answer_out_is_refused(bench: Bench) -> None:
    code, said = bench.is_refused(f"model.tokenizer={bench.workshop.root / 'silent'}")
    assert code == DATA, said


def test_a_model_with_a_smaller_vocabulary_than_the_tokenizer_is_refused(bench: Bench) -> None:
    model = copy_of_the_model(bench.workshop, "small-vocabulary")
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"vocab_size": 512}))
    code, said = bench.is_refused(f"model.name={model}")
    assert code == DATA, said
    assert "512" in said


def test_weights_that_are_cut_off_end_the_run_with_their_file(bench: Bench) -> None:
    model = copy_of_the_model(bench.workshop, "cut-off")
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    code, said = bench.fails("failed", f"model.name={model}", "model.weights=pretrained")
    assert code == DATA, said
    assert "model.safetensors" in said
    manifest = bench.workshop.manifest("failed")
    assert (manifest["status"], manifest["exit_code"]) == ("failed", DATA)
