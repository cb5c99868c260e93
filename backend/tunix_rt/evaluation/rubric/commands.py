"""tunix-rt eval judge."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counting_bar, print_json, print_table, printable, say
from tunix_rt.evaluation.rubric.judge import (
    JudgingOptions,
    judge_api_key,
    judge_base_url,
    judge_evaluation,
    load_rubric,
)
from tunix_rt.evaluation.rubric.types import Grade, JudgeModel, Prices, RubricReport


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


Reference = Annotated[
    str,
    typer.Argument(
        metavar="EVALUATION", help="Id, its first 6 characters, a run, or an evaluation directory."
    ),
]
Model = Annotated[str, typer.Option(help="Name of the judge model, as the endpoint knows it.")]
RubricName = Annotated[str, typer.Option("--rubric", metavar="NAME|FILE", help="docs/judging.md shows one.")]
BaseUrl = Annotated[
    str | None,
    typer.Option(help="OpenAI-compatible endpoint. Default: TUNIX_RT_JUDGE_BASE_URL.", metavar="URL"),
]
MaxItems = Annotated[int | None, typer.Option(min=1, help="Judge so many items, drawn at random.")]
Seed = Annotated[int, typer.Option(min=0, help="Of that draw.")]
Concurrency = Annotated[int, typer.Option(min=1, max=256, help="Requests at a time.")]
PerMinute = Annotated[float | None, typer.Option(min=0.1, help="Requests a minute at most.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds to wait for one reply.")]
Temperature = Annotated[float, typer.Option(min=0, max=2, help="Of the judge.")]
MaxTokens = Annotated[int, typer.Option(min=16, help="Of one reply, thoughts included.")]
PriceIn = Annotated[float | None, typer.Option(min=0, help="Price of a million input tokens.")]
PriceOut = Annotated[float | None, typer.Option(min=0, help="Price of a million output tokens.")]


def judge(
    evaluation: Reference,
    model: Model,
    rubric: RubricName = "shown_work",
    base_url: BaseUrl = None,
    max_items: MaxItems = None,
    seed: Seed = 0,
    concurrency: Concurrency = 4,
    requests_per_minute: PerMinute = None,
    timeout: Timeout = 120.0,
    temperature: Temperature = 0.0,
    max_tokens: MaxTokens = 4_096,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    as_json: JsonFlag = False,
) -> None:
    """Grade the texts of an evaluation by a rubric. Exit 1 when not one text could be graded.

    The key of the endpoint comes from TUNIX_RT_JUDGE_API_KEY, else OPENAI_API_KEY.
    """
    # Loads an HTTP client, which no other command needs.
    from tunix_rt.evaluation.rubric.endpoint import ChatEndpoint, RetryPolicy

    loaded = load_rubric(rubric)
    options = JudgingOptions(max_items, seed, concurrency, _prices(price_in, price_out))
    with opened_home() as home:
        url = judge_base_url(home.settings, base_url)
        asked = JudgeModel(model=model, base_url=url, temperature=temperature, max_tokens=max_tokens)
        patience = RetryPolicy(timeout_s=timeout, requests_per_minute=requests_per_minute)
        endpoint = ChatEndpoint(url, judge_api_key(home.settings), patience)
        try:
            with counting_bar("judging") as on_graded:
                report, path = judge_evaluation(home, evaluation, endpoint, asked, loaded, options, on_graded)
        finally:
            endpoint.close()
    print_json(report.to_json()) if as_json else print_report(report, path)
    if not report.num_graded:
        raise typer.Exit(1)


def _prices(price_in: float | None, price_out: float | None) -> Prices | None:
    if price_in is None and price_out is None:
        return None
    if price_in is None or price_out is None:
        raise InvalidInputError(
            "One price alone gives no cost.", next_step="Give both --price-in and --price-out."
        )
    return Prices(input=price_in, output=price_out)
