"""Whether the same run twice was the same, for people."""

from tunix_rt.base.terminal.output import counted, out, print_table
from tunix_rt.engines.parity.types import DeterminismReport, RepeatedRun


def print_determinism(report: DeterminismReport) -> None:
    """A row for each engine and platform; then what that means."""
    verdict = (
        "the same run twice gives the same weights on the CPU"
        if report.passed
        else "the same run twice does NOT give the same weights on the CPU"
    )
    _line(f"{verdict}: {report.recipe_name}, {counted(report.num_steps, 'step')}")
    print_table(
        ["engine", "device", "batches", "losses", "weights", "largest difference of a weight"],
        [_row(one) for one in report.repeats],
    )
    if any(one.platform != "cpu" for one in report.repeats):
        _line("Accelerators are measured, not promised: kernels that add in any order may differ next time.")
    for override in report.overrides:
        _line(f"changed {override.key}: {override.recipe_value} -> {override.used_value} ({override.reason})")


def _row(one: RepeatedRun) -> tuple[str, ...]:
    return (
        one.engine,
        one.platform,
        "equal" if one.batches_equal else "differ",
        _losses(one),
        "equal" if len(set(one.weights_sha256)) == 1 else "differ",
        _largest_difference(one),
    )


def _losses(one: RepeatedRun) -> str:
    if one.num_equal_steps == len(one.losses):
        return "equal"
    return f"differ from step {one.num_equal_steps + 1}, by up to {one.max_loss_difference:.1e}"


def _largest_difference(one: RepeatedRun) -> str:
    if not one.max_weight_difference:
        return f"0 in {one.num_weights:,} weights"
    return f"{one.max_weight_difference:.1e} in {one.max_weight_difference_tensor}"


def _line(text: str) -> None:
    out.print(text, markup=False, highlight=False)
