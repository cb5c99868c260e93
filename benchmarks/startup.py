"""Measures how long `tunix-rt --help` and `tunix-rt traces list` take to start, and which modules they load.

Each command runs once to fill the caches, then N times. The bar applies to the wall time on an
idle machine; CPU time is printed beside it because it suffers less from other processes.

    python -m benchmarks.startup [--runs 15] [--json]

Exits with 1 when a median is over the bar.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import Any

BAR_S = 0.35
COMMANDS = {"tunix-rt --help": ["--help"], "tunix-rt traces list": ["traces", "list"]}
_LIST_MODULES = """
import json, sys
from tunix_rt.cli.main import main
sys.argv = ["tunix-rt", *sys.argv[1:]]
try:
    main()
finally:
    print("\\n" + json.dumps(sorted(sys.modules)))
"""


def main() -> int:
    """Measure, print, and report through the exit code whether the bar holds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=15, help="timed runs of each command")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "TUNIX_RT_HOME": home}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling our modules each time is not start-up
        results = {name: measure(words, arguments.runs, environment) for name, words in COMMANDS.items()}
    print(json.dumps(results, indent=2) if arguments.json else as_table(results))
    return 0 if all(result["wall_s"] <= BAR_S for result in results.values()) else 1


def measure(words: list[str], num_runs: int, environment: dict[str, str]) -> dict[str, Any]:
    """Median wall and CPU seconds of a command, and how many modules of each package it loads."""
    probe = [sys.executable, "-c", _LIST_MODULES, *words]
    done = subprocess.run(probe, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    modules: list[str] = json.loads(done.stdout.splitlines()[-1])
    wall_s, cpu_s = [], []
    for _ in range(num_runs):
        before = cpu_seconds_of_children()
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "tunix_rt.cli", *words],
            env=environment,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        wall_s.append(time.perf_counter() - started)
        cpu_s.append(cpu_seconds_of_children() - before)
    packages = Counter(module.partition(".")[0] for module in modules)
    return {
        "n": num_runs,
        "wall_s": round(statistics.median(wall_s), 3),
        "cpu_s": round(statistics.median(cpu_s), 3),
        "num_modules": len(modules),
        "packages": {name: count for name, count in packages.most_common() if not is_standard(name)},
    }


def cpu_seconds_of_children() -> float:
    """User and system time of every child that has ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def is_standard(package: str) -> bool:
    """Whether a package belongs to Python itself."""
    return package in sys.stdlib_module_names or package.startswith("_")


def as_table(results: dict[str, dict[str, Any]]) -> str:
    """The figures as text."""
    lines = []
    for name, result in results.items():
        lines.append(
            f"{name:<22} {result['wall_s']:.3f} s wall, {result['cpu_s']:.3f} s CPU "
            f"(median of n={result['n']}, bar {BAR_S} s), {result['num_modules']} modules"
        )
        lines.append("  " + ", ".join(f"{package} {count}" for package, count in result["packages"].items()))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
