"""Measures how long it takes to score stored predictions: extraction, checkers, shown work and all scores.

Every text has four steps of arithmetic and an answer; three of four are right, some break the form, one in
fifty gives a fraction. The work goes over worker processes, as `tunix-rt eval rescore` does.

    python -m benchmarks.scoring [--count 10000] [--json]

Exits with 1 when the bar is missed.
"""

import argparse
import json
import os
import random
import sys
import time
from typing import Any

from tunix_rt.base.host import worker_processes
from tunix_rt.datasets.types import EvalItem, evalset_hash
from tunix_rt.evaluation.scoring.extraction import MAX_ANSWER_CHARS
from tunix_rt.evaluation.scoring.judgement import judge_all, protocol_versions
from tunix_rt.evaluation.scoring.scores import score
from tunix_rt.evaluation.types import Generation, Protocol, default_extraction

MAX_SECONDS_PER_10_000 = 10.0


def main() -> int:
    """Measure, print, and say through the exit code whether the bar holds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000, help="predictions to score")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    report = measure(arguments.count)
    print(json.dumps(report) if arguments.json else as_text(report))
    return 0 if report["passed"] else 1


def measure(count: int) -> dict[str, Any]:
    """Score `count` predictions and time it, the start of the workers included."""
    rng = random.Random(0)
    pairs = [make_pair(rng, index) for index in range(count)]
    items = [item for item, _ in pairs]
    protocol = Protocol(
        evalset_hash=evalset_hash(items),
        template_hash="0" * 64,
        extraction=default_extraction("reasoning"),
        max_answer_chars=MAX_ANSWER_CHARS,
        versions=protocol_versions(items),
    )
    start, cpu_start = time.perf_counter(), cpu_seconds()
    with worker_processes() as mapper:
        predictions = list(judge_all(items, (written for _, written in pairs), protocol, mapper))
    judged = time.perf_counter()
    scores = score(predictions, has_lenient_rules=False)
    end = time.perf_counter()
    return {
        "num_predictions": count,
        "num_cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "judging_s": round(judged - start, 2),
        "scores_s": round(end - judged, 2),
        "total_s": round(end - start, 2),
        "cpu_s": round(cpu_seconds() - cpu_start, 2),
        "accuracy": scores.primary_score,
        "passed": end - start < MAX_SECONDS_PER_10_000 * count / 10_000,
    }


def cpu_seconds() -> float:
    """Computing so far, of this process and of the workers that have ended: the same on a busy machine."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def make_pair(rng: random.Random, index: int) -> tuple[EvalItem, Generation]:
    """A word problem of four steps, and what a model wrote for it."""
    a, b, c, d = (rng.randint(2, 99) for _ in range(4))
    answer = (a + b) * c - d
    item = EvalItem(
        id=f"item-{index:06d}",
        prompt=f"A farm packs {a} and {b} eggs into each of {c} crates and loses {d}. How many are left?",
        expected_answer=str(answer),
        section=rng.choice(("core", "trace_sensitive", "edge_case")),
        category=rng.choice(("arithmetic", "word_problem", "geometry", "logic")),
        difficulty=rng.choice(("easy", "medium", "hard")),
    )
    given = answer if rng.random() < 0.75 else answer + rng.randint(1, 9)
    spelled = f"{2 * given}/2" if rng.random() < 0.02 else f"{given:,}" if rng.random() < 0.1 else str(given)
    steps = (
        f"Each crate holds {a} + {b} = {a + b} eggs.",
        f"All the crates together hold {a + b} * {c} = {(a + b) * c} eggs.",
        f"Of these, {d} eggs are lost: {(a + b) * c} - {d} = {given}.",
        f"So there are {given} eggs left in the end.",
    )
    text = "<reasoning>\n" + "\n".join(steps) + f"\n</reasoning>\n<answer>{spelled}</answer>"
    text = text if rng.random() < 0.95 else text.removeprefix("<reasoning>\n")
    return item, Generation(item_id=item.id, text=text, finish="end-of-turn", num_new_tokens=120)


def as_text(report: dict[str, Any]) -> str:
    """The figures for a person."""
    return (
        f"{report['num_predictions']:,} predictions in {report['total_s']} s "
        f"(judging {report['judging_s']} s, scores {report['scores_s']} s) on {report['num_cores']} cores, "
        f"load {report['load']}; {report['cpu_s']} s of computing; accuracy {report['accuracy']:.3f}"
    )


if __name__ == "__main__":
    sys.exit(main())
