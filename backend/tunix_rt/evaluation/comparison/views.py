"""Comparisons, gate verdicts and rankings in the terminal and as Markdown."""

import re
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tunix_rt.base.terminal.output import counted, out, print_table, printable, say
from tunix_rt.evaluation.comparison.gate import is_protected
from tunix_rt.evaluation.comparison.types import (
    Comparison,
    Flip,
    FlipSide,
    GateRule,
    GateVerdict,
    Leaderboard,
    LeaderboardEntry,
)

_ID_CHARS = 8
Names = tuple[str, str]
"""Display names of the two sides."""
BASE_AND_OTHER: Names = ("base", "other")

_DIRECTIONS = {"lost": "LOST", "unscored": "NOT SCORED", "gained": "GAINED"}


def print_comparison(comparison: Comparison) -> None:
    """Print the difference with its interval, overall and by section, and what is left out."""
    say(f"base   {comparison.base_name} ({str(comparison.base_id)[:_ID_CHARS]})")
    say(f"other  {comparison.other_name} ({str(comparison.other_id)[:_ID_CHARS]})")
    say(f"on     {comparison.evalset}, {counted(comparison.num_paired, 'item')} in both")
    for difference in comparison.protocol_differences:
        say(f"different protocols: {difference}")
    print_differences(comparison)
    for line in left_out(comparison):
        say(line)


def print_differences(comparison: Comparison, names: Names = BASE_AND_OTHER) -> None:
    """Print one row overall and one per section."""
    if comparison.overall is None:
        say("No item is scored in both, so there is nothing to compare.")
        return
    columns, *rows = difference_table(comparison, names)
    print_table(columns, rows)


def difference_table(comparison: Comparison, names: Names) -> list[tuple[str, ...]]:
    """The differences as text: the headings, overall, then one row per section."""
    overall = {} if comparison.overall is None else {"overall": comparison.overall}
    rows = [
        (
            name,
            f"{found.n:,}",
            f"{found.base:.1%}",
            f"{found.other:.1%}",
            points(found.difference),
            f"{points(found.low)} to {points(found.high)}",
            f"{found.num_lost:,}",
            f"{found.num_gained:,}",
            "< 0.0001" if found.p_value < 0.0001 else f"{found.p_value:.2g}",
        )
        for name, found in {**overall, **comparison.by_section}.items()
    ]
    return [("", "items", *names, "points", "95 %", "lost", "gained", "p"), *rows]


def points(share: float) -> str:
    """A difference in percentage points: -0.08 -> -8.0; zero after rounding has no sign."""
    text = f"{share * 100:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


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
        lines.append(f"left out: {counted(num_alone, 'item')} in only one of the two")
    return lines


def print_flips(flips: Sequence[Flip], num_shown: int, names: Names = BASE_AND_OTHER) -> None:
    """Print the first flips with question, expected answer and both completions side by side."""
    for flip in flips[:num_shown]:
        kind = f"({flip.section}, {flip.category}, {flip.difficulty})"
        say(f"\n{_DIRECTIONS[flip.direction]}  {flip.item_id}  {kind}")
        say(printable(flip.prompt.strip()))
        say(f"expected: {printable(flip.expected_answer)}")
        table = Table(box=None, pad_edge=False, expand=True, header_style="bold")
        for name, side in zip(names, (flip.base, flip.other), strict=True):
            table.add_column(Text(f"{name}: {verdict_text(side)}"), overflow="fold", ratio=1)
        table.add_row(*(Text(work_text(side)) for side in (flip.base, flip.other)))
        out.print(table)
    if num_shown < len(flips):
        say(f"\n{num_shown} of {len(flips):,} changed items shown; --flips {len(flips)} shows all")


def verdict_text(side: FlipSide) -> str:
    """The answer with its verdict: `17 (wrong)`; with several samples also the share of correct ones."""
    answer = printable(side.answer) if side.answer is not None else "no answer"
    is_split = side.share_right is not None and 0 < side.share_right < 1
    share = f", {side.share_right:.0%} of the samples right" if is_split else ""
    return f"{answer} ({side.verdict}{share})"


def work_text(side: FlipSide) -> str:
    """The completion, or why there is none."""
    return side.explanation if side.text is None else printable(side.text.strip())


_NAMES: Names = ("baseline", "new")


def print_verdict(verdict: GateVerdict, num_flips: int) -> None:
    """Print PASS or FAIL, the reasons, the numbers, and the lost items with both completions."""
    style = "bold green" if verdict.passed else "bold red"
    out.print(headline(verdict), style=style, markup=False, highlight=False)
    for reason in verdict.reasons:
        say(f"  {reason}")
    print_differences(verdict.comparison, _NAMES)
    for line in (*left_out(verdict.comparison), rule_text(verdict.rule)):
        say(line)
    print_flips(lost_flips(verdict), num_flips, _NAMES)


def headline(verdict: GateVerdict) -> str:
    """The verdict in one line."""
    found, word = verdict.comparison, "PASS" if verdict.passed else "FAIL"
    who = f"{word}  {found.other_name} against {verdict.baseline} ({found.base_name}) on {found.evalset}"
    overall = found.overall
    if overall is None:
        return who
    interval = f"95 % {points(overall.low)} to {points(overall.high)}, n = {overall.n:,}"
    return (
        f"{who}: {overall.base:.1%} -> {overall.other:.1%}, {points(overall.difference)} points ({interval})"
    )


def rule_text(rule: GateRule) -> str:
    """The rule in one line."""
    return (
        f"rule: no loss with p < {rule.alpha:g}; protected: {protected_text(rule)}; "
        f"at most {rule.max_unscored:.1%} of the items unscored"
    )


def protected_text(rule: GateRule) -> str:
    """What the rule protects."""
    kinds = {
        "section": rule.protected_sections,
        "category": rule.protected_categories,
        "item": rule.protected_items,
    }
    return ", ".join(f"{kind} {name}" for kind, names in kinds.items() for name in names) or "nothing"


def lost_flips(verdict: GateVerdict) -> list[Flip]:
    """Items that are no longer correct, protected ones first."""
    lost = [flip for flip in verdict.comparison.flips if flip.direction != "gained"]
    return sorted(lost, key=lambda flip: not is_protected(flip, verdict.rule))


def markdown(verdict: GateVerdict, num_flips: int) -> str:
    """The verdict as a comment for a pull request."""
    lost = lost_flips(verdict)
    parts = [f"### {headline(verdict)}", "\n".join(f"- {reason}" for reason in verdict.reasons)]
    columns, *rows = difference_table(verdict.comparison, _NAMES)
    lines = (columns, ("---",) * len(columns), *rows)
    parts.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
    parts += ["\n".join(left_out(verdict.comparison)), rule_text(verdict.rule)]
    parts += [_details(flip) for flip in lost[:num_flips]]
    if num_flips < len(lost):
        parts.append(f"{num_flips} of {len(lost):,} items that are no longer right are shown.")
    return "\n\n".join(part for part in parts if part)


def _details(flip: Flip) -> str:
    sides = "\n".join(
        f"{name}: {side.verdict}\n{_fenced(work_text(side))}"
        for name, side in zip(_NAMES, (flip.base, flip.other), strict=True)
    )
    summary = f"<summary>{_plain(flip.item_id)} ({_plain(flip.section)}, {_plain(flip.category)})</summary>"
    question = f"{_fenced(printable(flip.prompt))}\nexpected:\n{_fenced(printable(flip.expected_answer))}"
    return f"<details>{summary}\n\n{question}\n{sides}\n\n</details>"


def _plain(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _fenced(text: str) -> str:
    """A code block whose fence is longer than any run of backticks in the text, so no text can close it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


_COLUMNS = ("rank", "model", "accuracy", "95 %", "n", "to base", "format", "dataset", "id")


def print_leaderboard(board: Leaderboard) -> None:
    """Print one table per protocol and the meaning of the marks."""
    if not board.groups:
        say("No evaluation matches. Create one: tunix-rt eval MODEL --eval-set eval_v2")
        return
    for group in board.groups:
        title = f"{group.evalset}, protocol {group.fingerprint[:_ID_CHARS]}"
        print_table(_COLUMNS, [_leaderboard_row(entry) for entry in group.entries], title=title)
    entries = [entry for group in board.groups for entry in group.entries]
    if any(entry.is_tied for entry in entries):
        say("=  a shared rank: 1 + the number of models whose whole interval lies above")
    if any(entry.is_base for entry in entries):
        say("*  a base model; to base: difference in points to the model that a run started from")
    if len(board.groups) > 1:
        say(f"{len(board.groups)} protocols: their scores are not comparable, so each is ranked separately")
    if num_unscored := sum(entry.evaluation.num_unscored for entry in entries):
        say(f"{num_unscored:,} predictions have no verdict and are excluded; tunix-rt eval show explains why")
    if board.num_superseded:
        older = counted(board.num_superseded, "older evaluation")
        say(f"left out: {older} of the same models; --all shows all")


def _leaderboard_row(entry: LeaderboardEntry) -> tuple[object, ...]:
    found, name, num_scored = entry.evaluation, entry.evaluation.model.name, entry.evaluation.num_scored
    if found.model.weights != "pretrained":
        name = f"{name} (seed {found.model.seed})"
    num_samples = (num_scored + found.num_unscored) // max(found.num_items, 1)  # per item: `100 × 4`
    return (
        None if entry.rank is None else f"{entry.rank}{'=' if entry.is_tied else ''}",
        f"{name}{' *' if entry.is_base else ''}",
        None if found.primary_score is None else f"{found.primary_score:.1%}",
        None if found.low is None or found.high is None else f"{found.low * 100:.1f}–{found.high * 100:.1f}",
        f"{num_scored:,}" if num_samples <= 1 else f"{found.num_items:,} × {num_samples}",
        None if entry.difference_to_base is None else points(entry.difference_to_base),
        None if found.format_adherence is None else f"{found.format_adherence:.1%}",
        found.model.dataset,
        str(found.evaluation_id)[:_ID_CHARS],
    )
