"""A comparison of two evaluations as text for people."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tunix_rt.base.terminal.output import counted, out, print_table, printable, say
from tunix_rt.core.evaluation.comparison import Comparison, Flip, FlipSide, PairedDifference

_ID_CHARS = 8
Names = tuple[str, str]
"""What the two are called."""
BASE_AND_OTHER: Names = ("base", "other")

_DIRECTIONS = {"lost": "LOST", "unscored": "NOT SCORED", "gained": "GAINED"}


def print_comparison(comparison: Comparison) -> None:
    """The difference with its interval, overall and by section, and what was left out."""
    say(f"base   {comparison.base_name} ({str(comparison.base_id)[:_ID_CHARS]})")
    say(f"other  {comparison.other_name} ({str(comparison.other_id)[:_ID_CHARS]})")
    say(f"on     {comparison.evalset}, {counted(comparison.num_paired, 'item')} in both")
    for difference in comparison.protocol_differences:
        say(f"different protocols: {difference}")
    print_differences(comparison)
    for line in left_out(comparison):
        say(line)


def print_differences(comparison: Comparison, names: Names = BASE_AND_OTHER) -> None:
    """One row overall, one a section."""
    if comparison.overall is None:
        say("No item is scored in both, so there is nothing to compare.")
        return
    print_table(difference_columns(names), difference_rows(comparison))


def difference_columns(names: Names) -> tuple[str, ...]:
    """The heads of `difference_rows`."""
    return ("", "items", *names, "points", "95 %", "lost", "gained", "p")


def difference_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """The differences as text, overall first."""
    overall = {} if comparison.overall is None else {"overall": comparison.overall}
    return [(name, *_cells(found)) for name, found in {**overall, **comparison.by_section}.items()]


def _cells(found: PairedDifference) -> tuple[str, ...]:
    return (
        f"{found.n:,}",
        f"{found.base:.1%}",
        f"{found.other:.1%}",
        points(found.difference),
        f"{points(found.low)} to {points(found.high)}",
        f"{found.num_lost:,}",
        f"{found.num_gained:,}",
        p_text(found.p_value),
    )


def points(share: float) -> str:
    """A difference of shares in percentage points: -0.08 -> -8.0; what rounds to nothing has no sign."""
    text = f"{share * 100:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def p_text(p_value: float) -> str:
    """A p-value as people read it."""
    return "< 0.0001" if p_value < 0.0001 else f"{p_value:.2g}"


def left_out(comparison: Comparison) -> list[str]:
    """What the numbers do not cover, one line each."""
    num_unscored = comparison.num_paired - (comparison.overall.n if comparison.overall else 0)
    num_alone = comparison.num_only_base + comparison.num_only_other
    lines = []
    if num_unscored:
        lines.append(
            f"left out: {num_unscored:,} of {comparison.num_paired:,} items, not scored in one of the two"
        )
    if num_alone:
        lines.append(f"left out: {counted(num_alone, 'item')} that only one of the two was asked")
    return lines


def print_flips(flips: Sequence[Flip], num_shown: int, names: Names = BASE_AND_OTHER) -> None:
    """The first flips with question, expected answer and both works side by side."""
    for flip in flips[:num_shown]:
        _print_flip(flip, names)
    if num_shown < len(flips):
        say(f"\n{num_shown} of {len(flips):,} changed items shown; --flips {len(flips)} shows all")


def _print_flip(flip: Flip, names: Names) -> None:
    kind = f"({flip.section}, {flip.category}, {flip.difficulty})"
    say(f"\n{_DIRECTIONS[flip.direction]}  {flip.item_id}  {kind}")
    say(printable(flip.prompt.strip()))
    say(f"expected: {printable(flip.expected_answer)}")
    table = Table(box=None, pad_edge=False, expand=True, header_style="bold")
    for name, side in zip(names, (flip.base, flip.other), strict=True):
        table.add_column(Text(f"{name}: {verdict_text(side)}"), overflow="fold", ratio=1)
    table.add_row(*(Text(work_text(side)) for side in (flip.base, flip.other)))
    out.print(table)


def verdict_text(side: FlipSide) -> str:
    """The verdict with the answer: `17 (wrong)`, of several samples with their share."""
    answer = printable(side.answer) if side.answer is not None else "no answer"
    is_split = side.share_right is not None and 0 < side.share_right < 1
    share = f", {side.share_right:.0%} of the samples right" if is_split else ""
    return f"{answer} ({side.verdict}{share})"


def work_text(side: FlipSide) -> str:
    """What was written, or why there is nothing."""
    return side.explanation if side.text is None else printable(side.text.strip())
