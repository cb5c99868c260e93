"""The verdict of the gate: for a person at a terminal, and as a comment in a CI."""

import re
from collections.abc import Iterator, Sequence

from tunix_rt.base.terminal.output import out, printable, say
from tunix_rt.cli.comparison_view import (
    Names,
    difference_columns,
    difference_rows,
    left_out,
    points,
    print_differences,
    print_flips,
    work_text,
)
from tunix_rt.core.evaluation.comparison import Flip, FlipSide, GateRule, GateVerdict
from tunix_rt.evals.gating import is_protected

_NAMES: Names = ("baseline", "new")


def print_verdict(verdict: GateVerdict, num_flips: int) -> None:
    """PASS or FAIL first, then why, the numbers, and the lost items with both texts."""
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
    """What is no longer right, protected items first."""
    lost = [flip for flip in verdict.comparison.flips if flip.direction != "gained"]
    return sorted(lost, key=lambda flip: not is_protected(flip, verdict.rule))


def markdown(verdict: GateVerdict, num_flips: int) -> str:
    """The verdict as a comment for a pull request."""
    lost = lost_flips(verdict)
    parts = [f"### {headline(verdict)}", "\n".join(f"- {reason}" for reason in verdict.reasons)]
    parts += ["\n".join(_table(verdict)), "\n".join(left_out(verdict.comparison)), rule_text(verdict.rule)]
    parts += [_details(flip) for flip in lost[:num_flips]]
    if num_flips < len(lost):
        parts.append(f"{num_flips} of {len(lost):,} items that are no longer right are shown.")
    return "\n\n".join(part for part in parts if part)


def _table(verdict: GateVerdict) -> Iterator[str]:
    columns = difference_columns(_NAMES)
    yield _row(columns)
    yield _row(["---"] * len(columns))
    yield from map(_row, difference_rows(verdict.comparison))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _details(flip: Flip) -> str:
    sides = "\n".join(map(_side, _NAMES, (flip.base, flip.other)))
    summary = f"<summary>{_plain(flip.item_id)} ({_plain(flip.section)}, {_plain(flip.category)})</summary>"
    asked = f"{_fenced(printable(flip.prompt))}\nexpected:\n{_fenced(printable(flip.expected_answer))}"
    return f"<details>{summary}\n\n{asked}\n{sides}\n\n</details>"


def _side(name: str, side: FlipSide) -> str:
    return f"{name}: {side.verdict}\n{_fenced(work_text(side))}"


def _plain(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _fenced(text: str) -> str:
    """A code block that no text can end: its fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
