"""Measures the trace linter on GSM8K: false alarms, corrupted steps found, and speed.

Every solution becomes a trace in two forms: with its `<<48/2=24>>` annotations, and as prose alone. Clean
traces should not be flagged; then one step of each is corrupted (the same step and change in both forms, once
with and once without its consequences), and `arithmetic-wrong` should point at that step.

    python benchmarks/linter_gsm8k.py [--data gsm8k_train.jsonl.gz] [--limit 500] [--json]

Exits with 1 when a bar is missed, 2 when the data is not there.
"""

import argparse
import gc
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tunix_rt.base.statistics import wilson_share
from tunix_rt.traces.corruption import KINDS, NothingToCorruptError, corrupt
from tunix_rt.traces.formats.converters import trace_from_gsm8k, without_annotations
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.types import Trace

REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_DATA = REPOSITORY.parent / "shared" / "data" / "gsm8k_train.jsonl.gz"
FORMS = ("annotated", "prose")
MAX_CLEAN_FLAGGED = 0.01
MIN_FOUND = 0.95
MIN_TRACES_PER_S = 2_000
TIMED_TRACES = 200
TIMED_ROUNDS = 30

Rate = tuple[int, int]
"""How many, of how many."""


def main() -> int:
    """Measure, print, and say through the exit code whether the bars hold."""
    arguments = parse_arguments()
    if not arguments.data.is_file():
        print(f"No GSM8K file at {arguments.data}. Give one with --data PATH.", file=sys.stderr)
        return 2
    rows = read_rows(arguments.data, arguments.limit)
    report = measure(rows)
    print(json.dumps(report, indent=2) if arguments.json else as_table(report))
    return 0 if report["passed"] else 1


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="GSM8K as JSONL, plain or gzipped")
    parser.add_argument("--limit", type=int, default=None, help="only the first N solutions")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def read_rows(path: Path, limit: int | None) -> list[dict[str, Any]]:
    """The rows of the data file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for _, line in zip(range(limit or sys.maxsize), lines, strict=False)]


def measure(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All figures, and whether every bar holds."""
    annotated = [trace_from_gsm8k(row, keep_annotations=True) for row in rows]
    traces = {"annotated": annotated, "prose": [stripped(trace) for trace in annotated]}
    clean = {form: clean_rate(traces[form]) for form in FORMS}
    found, num_uncorruptible = found_rates(annotated)
    speed = {form: traces_per_second(traces[form]) for form in FORMS}
    passed = (
        all(flagged <= MAX_CLEAN_FLAGGED * n for flagged, n in clean.values())
        and all(found[form]["all"][0] >= MIN_FOUND * found[form]["all"][1] for form in FORMS)
        and min(speed.values()) >= MIN_TRACES_PER_S
    )
    return {
        "num_traces": len(rows),
        "num_without_a_result_to_corrupt": num_uncorruptible,
        "clean_flagged": {form: described(rate) for form, rate in clean.items()},
        "corrupted_found": {form: {k: described(r) for k, r in found[form].items()} for form in FORMS},
        "traces_per_s_per_core": {form: round(value) for form, value in speed.items()},
        "bars": {"flagged": MAX_CLEAN_FLAGGED, "found": MIN_FOUND, "traces_per_s": MIN_TRACES_PER_S},
        "passed": passed,
    }  # fmt: skip


def stripped(trace: Trace) -> Trace:
    """The trace as prose alone."""
    steps = [step.model_copy(update={"content": without_annotations(step.content)}) for step in trace.steps]
    return trace.model_copy(update={"steps": tuple(step for step in steps if step.content.strip())})


def clean_rate(traces: Iterable[Trace]) -> Rate:
    """How many traces are flagged for wrong arithmetic, of how many."""
    flagged = [bool(wrong_steps(trace)) for trace in traces]
    return sum(flagged), len(flagged)


def wrong_steps(trace: Trace) -> set[int | None]:
    """The steps that the linter flags for wrong arithmetic."""
    return {finding.step for finding in lint_trace(trace).findings if finding.code == "arithmetic-wrong"}


def found_rates(traces: Sequence[Trace]) -> tuple[dict[str, dict[str, Rate]], int]:
    """For each form: corrupted steps found at the right step, over all, by kind and by propagation."""
    num_found: Counter[tuple[str, str]] = Counter()
    num_all: Counter[tuple[str, str]] = Counter()
    num_uncorruptible = 0
    for seed, trace in enumerate(traces):
        for propagate in (False, True):
            try:
                corruption = corrupt(trace, seed, propagate=propagate)
            except NothingToCorruptError:
                num_uncorruptible += not propagate
                continue
            for form, broken in zip(FORMS, (corruption.trace, stripped(corruption.trace)), strict=True):
                is_found = corruption.step in wrong_steps(broken)
                for group in ("all", corruption.kind, "propagated" if propagate else "not propagated"):
                    num_all[form, group] += 1
                    num_found[form, group] += is_found
    groups = ("all", *KINDS, "propagated", "not propagated")
    rates = {form: {g: (num_found[form, g], num_all[form, g]) for g in groups} for form in FORMS}
    return rates, num_uncorruptible


def traces_per_second(traces: Sequence[Trace]) -> float:
    """Traces linted per second of one core's time; the best of some rounds, as others use the machine too."""
    sample = traces[:: max(1, len(traces) // TIMED_TRACES)]
    gc.collect()
    gc.freeze()  # the collector need not walk this benchmark's own thousands of traces again and again
    rounds = [_seconds_to_lint(sample) for _ in range(TIMED_ROUNDS)]
    return len(sample) / min(rounds)


def _seconds_to_lint(traces: Sequence[Trace]) -> float:
    start = time.process_time()
    for trace in traces:
        lint_trace(trace)
    return time.process_time() - start


def described(rate: Rate) -> dict[str, float | int | list[float]]:
    """A rate with its n and its 95 % Wilson interval."""
    hits, n = rate
    share = wilson_share(hits, n)
    low, high = share.low, share.high
    return {"n": n, "rate": round(hits / n if n else 0.0, 5), "interval_95": [round(low, 5), round(high, 5)]}


def as_table(report: dict[str, Any]) -> str:
    """The report as text."""
    lines = [f"GSM8K, {report['num_traces']} solutions", "", f"{'':34}{'annotated':>33}{'prose':>33}"]
    lines.append(_row("clean, flagged (bar: at most 1 %)", [report["clean_flagged"][form] for form in FORMS]))
    for group in report["corrupted_found"]["prose"]:
        name = "corrupted, found (bar: 95 %)" if group == "all" else f"  {group}"
        lines.append(_row(name, [report["corrupted_found"][form][group] for form in FORMS]))
    speeds = "".join(f"{report['traces_per_s_per_core'][form]:>33,}" for form in FORMS)
    lines.append(f"{'traces/s on one core (bar: 2,000)':34}{speeds}")
    lines.append(
        f"{report['num_without_a_result_to_corrupt']} solutions state no result that could be corrupted."
    )
    lines.append("All bars hold." if report["passed"] else "A bar is missed.")
    return "\n".join(lines)


def _row(name: str, rates: Sequence[dict[str, Any]]) -> str:
    cells = [
        "{:.2f} % [{:.2f}, {:.2f}] n={}".format(
            100 * r["rate"], *(100 * end for end in r["interval_95"]), r["n"]
        )
        for r in rates
    ]
    return f"{name:34}" + "".join(f"{cell:>33}" for cell in cells)


if __name__ == "__main__":
    sys.exit(main())
