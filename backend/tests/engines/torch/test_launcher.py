"""`training_pt/train.py`, the seeds' command line of the torch engine, and `--engine auto` after it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.children import run_here, run_script_here
from support.training import DATASET, Listener, Workshop, make_workshop

from tunix_rt.engines.select import has_nvidia_gpu

ROOT = Path(__file__).parents[4]
SCRIPT = ROOT / "training_pt" / "train.py"


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return make_workshop(tmp_path_factory.mktemp("workshop"), "torch")


def launch(workshop: Workshop, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        cwd=ROOT,
        env=workshop.environment(COLUMNS="200"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


def test_the_launcher_is_only_a_launcher() -> None:
    assert len(SCRIPT.read_text().splitlines()) <= 15


def test_help_names_every_flag(workshop: Workshop) -> None:
    done = launch(workshop, "--help")
    assert done.returncode == 0
    for flag in (
        "--config --output --dataset --data --device --device_index --smoke_steps --smoke_config "
        "--checkpoint_dir --resume_from --save_every_steps --eval_after_train --eval_set"
    ).split():
        assert f"{flag} " in done.stdout, flag


def test_seed_launcher_trains_and_auto_resumes(workshop: Workshop) -> None:
    output = workshop.root / "launched"
    flags = ("--output", output, "--dataset", DATASET, "--device", "cpu", "--smoke_steps", 2)
    done = launch(workshop, "--config", workshop.recipe, *flags)
    assert done.returncode == 0, done.stderr
    assert workshop.manifest("launched")["engine"] == "torch"
    assert [override["message"] for override in workshop.events("launched", "override")] == [
        "training.num_steps: 12 -> 2 (--smoke_steps)"
    ]
    assert (output / "log.txt").read_text().splitlines()[0] == "engine torch: --engine torch"

    longer = ("--output", output, "--device", "cpu", "--resume", "--set", "training.num_steps=3", "--json")
    done = run_here("train", workshop.recipe, *longer, settings=workshop.settings, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert "engine torch: the resumed run was started with it" in done.stderr
    assert json.loads(done.stdout)["figures"]["num_steps"] == 3


def test_missing_padding_and_template_are_added(workshop: Workshop) -> None:
    workshop.train("whole", "training.num_steps=1", "training.warmup_steps=0")
    model = workshop.root / "whole" / "model"
    (model / "chat_template.jinja").unlink()
    config = json.loads((model / "tokenizer_config.json").read_bytes())
    named = {key: value for key, value in config.items() if key not in ("pad_token", "eos_token")}
    (model / "tokenizer_config.json").write_text(json.dumps(named))

    listener = Listener()
    changes = (
        f"model.name={model}",
        "model.weights=pretrained",
        "training.num_steps=1",
        "training.warmup_steps=0",
    )
    manifest = workshop.train("bare", *changes, view=listener)
    assert manifest.status == "succeeded"
    assert any("built-in chat template" in line for line in listener.lines)


@pytest.mark.skipif(has_nvidia_gpu(), reason="this machine has an NVIDIA GPU")
def test_missing_gpu_never_falls_back_to_cpu(workshop: Workshop) -> None:
    output = workshop.root / "nowhere"
    flags = ("--config", workshop.recipe, "--output", output, "--device", "cuda")
    done = run_script_here(SCRIPT, *flags, environ=workshop.environment(COLUMNS="200"))
    assert done.returncode == 4
    assert "error: " in done.stderr
    assert "--device cpu" in done.stderr
    assert not output.exists()
