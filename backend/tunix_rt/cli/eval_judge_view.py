"""A rubric's grades, for people."""

from pathlib import Path

from tunix_rt.base.terminal.output import print_table, printable, say
from tunix_rt.core.evaluation.rubric import Grade, RubricReport


def print_report(report: RubricReport, path: Path) -> None:
    """Means, what could not be graded, one example, what it took, and where it is."""
    rubric, judge = report.rubric, report.judge
    title = f"{rubric.name} {rubric.version}, judged by {judge.model}"
    rows = [(name, str(mean)) for name, mean in report.criteria.items()]
    print_table(["criterion", "mean"], rows, title=title)
    _print_failures(report)
    _print_lowest(report)
    _print_usage(report)
    say(f"record: {path}")


def _print_failures(report: RubricReport) -> None:
    for code, count in report.failures.items():
        example = next(grade for grade in report.grades if grade.failure and grade.failure.code == code)
        assert example.failure is not None
        say(f"not graded: {count:,} x {code}, e.g. {example.item_id}: {printable(example.failure.detail)}")
    if report.parameters_left_out:
        say(f"the endpoint does not take {', '.join(report.parameters_left_out)}; asked without")


def _print_lowest(report: RubricReport) -> None:
    graded = [grade for grade in report.grades if grade.failure is None]
    if not graded:
        return
    lowest = min(graded, key=_total)
    for name, given in lowest.criteria.items():
        say(f"lowest, {lowest.item_id}: {name} {given.score}: {printable(given.reason)}")


def _total(grade: Grade) -> int:
    return sum(given.score for given in grade.criteria.values())


def _print_usage(report: RubricReport) -> None:
    now = report.usage_of_this_run
    num_cached = sum(grade.is_cached for grade in report.grades)
    cost = "" if report.cost_of_this_run is None else f", cost {report.cost_of_this_run:.4f}"
    say(
        f"asked {now.num_requests:,} times: {now.num_input_tokens:,} input and {now.num_output_tokens:,} "
        f"output tokens{cost}"
    )
    if now.num_without_usage:
        say(f"{now.num_without_usage:,} replies came without token counts; they are in no sum")
    if num_cached:
        say(f"{num_cached:,} of {report.num_texts:,} texts were graded before and cost nothing")
