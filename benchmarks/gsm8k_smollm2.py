"""What one epoch of GSM8K teaches SmolLM2-135M-Instruct, measured before and after on the same questions.

Two eval sets: GSM8K test (all of it), and one-digit `chain_sum` of reasoning-gym (every question there is).
Every step is a command that a user would type; the last ones compare.

    python -m benchmarks.gsm8k_smollm2 --model DIR --gsm8k DIR --work DIR [--engine jax] [--device gpu]

`--model` is made by benchmarks/smollm2_checkpoint.py; `--gsm8k` holds gsm8k_train.jsonl.gz and
gsm8k_test.jsonl.gz. The figures go to WORK/gsm8k_smollm2.json, the records of all four evaluations to
WORK/evaluations, and the evidence of the run with its last evaluation to WORK/evidence.zip. Each engine has
its own WORK.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tunix_rt.datasets.types import Difficulty, EvalItem, item_json
from tunix_rt.recipes.load import load_recipe
from tunix_rt.traces.formats.converters import trace_from_gsm8k

RECIPE = Path(__file__).resolve().parents[1] / "training" / "configs" / "sft_smollm2_135m.yaml"
LABEL = "SmolLM2-135M-Instruct, Q4_1-derived"
FOR_LONGER_RUNS = ("training.warmup_steps=60", "eval.every_steps=100")
"""The recipe is for its own dataset, which makes 64 steps; GSM8K makes 1,489."""
CHAIN_SUM_SEED = 7
MAX_NEW_TOKENS = {"gsm8k_test": 400, "chain_sum_one_digit": 128}


def main() -> int:
    """Make the eval sets, evaluate, train, evaluate again, compare, write the figures."""
    arguments = parse_arguments()
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    # The last evaluation of a run is the one that its evidence holds.
    evalsets = {"chain_sum_one_digit": chain_sum_evalset(work), "gsm8k_test": gsm8k_evalset(arguments)}
    run_dir = work / "run"
    before = {name: evaluate(arguments, arguments.model, path) for name, path in evalsets.items()}
    trained = train(arguments, run_dir)
    after = {name: evaluate(arguments, run_dir, path) for name, path in evalsets.items()}
    compared = {name: compare(arguments, before[name], after[name]) for name in evalsets}
    report = {
        "model": LABEL,
        "engine": arguments.engine,
        "training": trained,
        "before": before,
        "after": after,
        "compared": compared,
    }
    for when, evaluations in (("before", before), ("after", after)):
        keep_records(work, when, evaluations)
    tunix_rt(arguments, "evidence", "pack", str(run_dir), "--to", str(work / "evidence"), "--zip")
    (work / "gsm8k_smollm2.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))
    return 0


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--gsm8k", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--engine", choices=("jax", "torch"), default="jax")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--limit", type=int, default=None, help="only the first N items of each eval set")
    parser.add_argument("--set", action="append", default=[], help="as of tunix-rt train")
    return parser.parse_args()


def gsm8k_evalset(arguments: argparse.Namespace) -> Path:
    """GSM8K test as an eval set; the difficulty is the number of steps of the reference solution."""
    path: Path = arguments.work / "gsm8k_test.jsonl"
    with gzip.open(arguments.gsm8k / "gsm8k_test.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    items = [gsm8k_item(number, row) for number, row in enumerate(rows, start=1)]
    path.write_text("".join(item_json(item) + "\n" for item in items), encoding="utf-8")
    return path


def gsm8k_item(number: int, row: dict[str, Any]) -> EvalItem:
    """One question of GSM8K."""
    trace = trace_from_gsm8k(row, keep_annotations=False)
    num_steps = len(trace.steps)
    difficulty: Difficulty = "easy" if num_steps <= 2 else "medium" if num_steps <= 4 else "hard"
    return EvalItem(
        id=f"gsm8k-test-{number:04d}",
        prompt=trace.prompt,
        expected_answer=trace.final_answer,
        section="trace_sensitive",
        category="gsm8k",
        difficulty=difficulty,
        answer_type="number",
    )


def chain_sum_evalset(work: Path) -> Path:
    """Every one-digit sum and difference; made once, because reasoning-gym may not be on the machine."""
    path = work / "chain_sum_one_digit.jsonl"
    if not path.exists():
        path.write_text("".join(item_json(item) + "\n" for item in chain_sum_items()), encoding="utf-8")
    return path


def chain_sum_items() -> Iterator[EvalItem]:
    """The distinct questions of a thousand draws."""
    import reasoning_gym

    shape = {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}
    drawn = reasoning_gym.create_dataset("chain_sum", size=1000, seed=CHAIN_SUM_SEED, **shape)
    answers = {entry["question"]: entry["answer"] for entry in drawn}
    for number, (question, answer) in enumerate(sorted(answers.items()), start=1):
        yield EvalItem(
            id=f"chain-sum-{number:03d}",
            prompt=question,
            expected_answer=answer,
            section="core",
            category="chain_sum",
            difficulty="easy",
            answer_type="number",
        )


def evaluate(arguments: argparse.Namespace, model: Path, evalset: Path) -> dict[str, Any]:
    """`tunix-rt eval` of one model on one eval set; the overall scores."""
    command = ["eval", str(model), "--eval-set", str(evalset), *where(arguments), "--lenient"]
    # Asked for by name: the untrained model has no run that would say it, and both must be read alike.
    command += ["--markup", load_recipe(RECIPE, sets=arguments.set).recipe.data.markup]
    command += ["--max-new-tokens", str(MAX_NEW_TOKENS[evalset.stem])]
    if arguments.limit is not None:
        command += ["--limit", str(arguments.limit)]
    evaluation = tunix_rt(arguments, *command)
    chosen = {key: evaluation[key] for key in ("evaluation_id", "fingerprint", "num_items", "generation")}
    return {**chosen, "overall": evaluation["scores"]["overall"]}


def train(arguments: argparse.Namespace, run_dir: Path) -> dict[str, Any]:
    """One epoch on GSM8K train."""
    data = arguments.work / "gsm8k_train.jsonl"
    data.write_bytes(gzip.decompress((arguments.gsm8k / "gsm8k_train.jsonl.gz").read_bytes()))
    ingested = tunix_rt(arguments, "data", "ingest", str(data), "--name", "gsm8k")
    dataset = ingested["dataset"]["dataset_key"]
    changes = [f"model.name={arguments.model}", *FOR_LONGER_RUNS, *arguments.set]
    sets = [part for change in changes for part in ("--set", change)]
    command = ["train", str(RECIPE), "--dataset", dataset, *where(arguments), "--output", str(run_dir)]
    manifest = tunix_rt(arguments, *command, *sets)
    return {key: manifest[key] for key in ("status", "durations_s", "figures")} | {"set": arguments.set}


def where(arguments: argparse.Namespace) -> list[str]:
    """The engine and its device."""
    return ["--engine", arguments.engine, "--device", arguments.device]


def keep_records(work: Path, when: str, evaluations: dict[str, dict[str, Any]]) -> None:
    """Copy what every evaluation wrote to where a person finds it."""
    for name, evaluation in evaluations.items():
        written = work / "home" / "evaluations" / str(evaluation["evaluation_id"])
        shutil.copytree(written, work / "evaluations" / f"{when}-{name}", dirs_exist_ok=True)


def compare(arguments: argparse.Namespace, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """`tunix-rt compare` of before and after."""
    ids = (str(before["evaluation_id"]), str(after["evaluation_id"]))
    overall: dict[str, Any] = tunix_rt(arguments, "compare", *ids)["overall"]
    return overall


def tunix_rt(arguments: argparse.Namespace, *command: str) -> dict[str, Any]:
    """Run a command with --json and give back what it printed."""
    print("tunix-rt", *command, file=sys.stderr, flush=True)
    environment = {**os.environ, "TUNIX_RT_HOME": str(arguments.work / "home")}
    done = subprocess.run(
        [sys.executable, "-m", "tunix_rt.cli", *command, "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    sys.exit(main())
