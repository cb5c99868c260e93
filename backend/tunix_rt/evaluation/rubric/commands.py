"""tunix-rt eval judge."""

from contextlib import closing
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
from tunix_rt.evaluation.rubric.types import JudgeModel, Prices, RubricReport


def print_report(report: RubricReport, path: Path) -> None:
    """Print the means, failures, the lowest grade, the token usage and the path of the report."""
    rubric, judge = report.rubric, report.judge
    title = f"{rubric.name} {rubric.version}, judged by {judge.model}"
    rows = [(name, str(mean)) for name, mean in report.criteria.items()]
    print_table(["criterion", "mean"], rows, title=title)
    for code, count in report.failures.items():
        example = next(grade for grade in report.grades if grade.failure and grade.failure.code == code)
        assert example.failure is not None
        say(f"not graded: {count:,} x {code}, e.g. {example.item_id}: {printable(example.failure.detail)}")
    if report.parameters_left_out:
        say(f"the endpoint does not support {', '.join(report.parameters_left_out)}; sent without")
    graded = [grade for grade in report.grades if grade.failure is None]
    if graded:
        lowest = min(graded, key=lambda grade: sum(one.score for one in grade.criteria.values()))
        for name, given in lowest.criteria.items():
            say(f"lowest, {lowest.item_id}: {name} {given.score}: {printable(given.reason)}")
    now = report.usage_of_this_run
    num_cached = sum(grade.is_cached for grade in report.grades)
    cost = "" if report.cost_of_this_run is None else f", cost {report.cost_of_this_run:.4f}"
    say(
        f"{now.num_requests:,} requests: {now.num_input_tokens:,} input and {now.num_output_tokens:,} "
        f"output tokens{cost}"
    )
    if now.num_without_usage:
        say(f"{now.num_without_usage:,} replies had no token counts; the sums exclude them")
    if num_cached:
        say(f"{num_cached:,} of {report.num_texts:,} texts were graded earlier and cost nothing")
    say(f"record: {path}")


def judge(
    evaluation: Annotated[
        str,
        typer.Argument(
            metavar="EVALUATION", help="Id, its first 6 characters, run id, or evaluation directory."
        ),
    ],
    model: Annotated[str, typer.Option(help="Name of the judge model at the endpoint.")],
    rubric: Annotated[
        str, typer.Option("--rubric", metavar="NAME|FILE", help="docs/judging.md shows one.")
    ] = "shown_work",
    base_url: Annotated[
        str | None,
        typer.Option(help="OpenAI-compatible endpoint. Default: TUNIX_RT_JUDGE_BASE_URL.", metavar="URL"),
    ] = None,
    max_items: Annotated[
        int | None, typer.Option(min=1, help="Judge at most this many items, sampled at random.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the item sample.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Concurrent requests.")] = 4,
    requests_per_minute: Annotated[
        float | None, typer.Option(min=0.1, help="Maximum requests per minute.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for a reply.")] = 120.0,
    temperature: Annotated[
        float, typer.Option(min=0, max=2, help="Sampling temperature of the judge.")
    ] = 0.0,
    max_tokens: Annotated[
        int, typer.Option(min=16, help="Maximum tokens of a reply, including reasoning.")
    ] = 4_096,
    price_in: Annotated[float | None, typer.Option(min=0, help="Price per million input tokens.")] = None,
    price_out: Annotated[float | None, typer.Option(min=0, help="Price per million output tokens.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Grade the completions of an evaluation by a rubric. Exit 1 if none could be graded.

    The API key is read from TUNIX_RT_JUDGE_API_KEY, else OPENAI_API_KEY.
    """
    # Imports an HTTP client, which no other command needs.
    from tunix_rt.evaluation.rubric.endpoint import ChatEndpoint, RetryPolicy

    loaded = load_rubric(rubric)
    if (price_in is None) != (price_out is None):
        raise InvalidInputError(
            "The cost needs both prices.", next_step="Give both --price-in and --price-out."
        )
    prices = None if price_in is None or price_out is None else Prices(input=price_in, output=price_out)
    options = JudgingOptions(max_items, seed, concurrency, prices)
    with opened_home() as home:
        url = judge_base_url(home.settings, base_url)
        judge_model = JudgeModel(model=model, base_url=url, temperature=temperature, max_tokens=max_tokens)
        policy = RetryPolicy(timeout_s=timeout, requests_per_minute=requests_per_minute)
        endpoint = ChatEndpoint(url, judge_api_key(home.settings), policy)
        with closing(endpoint), counting_bar("judging") as on_graded:
            report, path = judge_evaluation(
                home, evaluation, endpoint, judge_model, loaded, options, on_graded
            )
    print_json(report.to_json()) if as_json else print_report(report, path)
    if not report.num_graded:
        raise typer.Exit(1)
