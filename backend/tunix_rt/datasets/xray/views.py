"""Terminal output for X-ray reports."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tunix_rt.base.terminal.output import counted
from tunix_rt.datasets.xray.report import Severity, XrayFinding, XrayReport, XrayRow, XrayToken, visible_text
from tunix_rt.tokenization.encoding import TokenPart

_SEVERITY_STYLES: dict[Severity, str] = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_TRAINED_STYLES: dict[TokenPart, str] = {
    "answer": "bold black on green",
    "reasoning": "green",
    "markup": "cyan",
    "end_of_turn": "bold black on yellow",
    "prompt": "bold white on red",
}
_MASKED_STYLE = "dim"


def print_xray(report: XrayReport, console: Console) -> None:
    """Print the findings, the counts and the rows."""
    has_colour = console.color_system is not None and not console.no_color
    verdict = ("passed", "bold green") if report.passed else ("failed", "bold red")
    description = f": {report.tokenizer}, template {report.template}, markup {report.markup}"
    console.print(Text.assemble(("X-ray ", "bold"), verdict, visible_text(description)))
    console.print(_figures(report), highlight=False)
    console.print()
    if report.findings:
        console.print(Text("\n").join([*map(_finding, report.findings), Text()]))
    else:
        text = "No findings: answers and end of turn are trained, prompts are not.\n"
        console.print(Text(text, style="green"))
    console.print(_part_table(report))
    console.print(_legend(has_colour))
    for row in report.rows:
        _print_row(row, console, has_colour)


def _figures(report: XrayReport) -> str:
    examples = counted(report.num_examples, "example")
    if report.is_partial:
        examples = f"the first {examples}"
    trained = f"{report.num_trained:,} of {report.num_tokens:,} tokens trained"
    share = f"({report.num_trained / report.num_tokens:.1%})"
    rows = ""
    if report.row_length is not None:
        kind = "packed rows" if report.packed else "rows"
        rows = f"; {kind} of {report.row_length:,}: {report.num_rows:,}, {report.fill_ratio:.1%} full"
    return f"{examples}; {trained} {share}{rows}; longest example {report.longest_example:,}"


def _finding(finding: XrayFinding) -> Text:
    more = ["…"] if finding.count > len(finding.examples) else []
    examples = ", ".join([*map(str, finding.examples), *more])
    return Text.assemble(
        (finding.severity, _SEVERITY_STYLES[finding.severity]),
        (f" {finding.code}", "bold"),
        f" {finding.count:,} ({finding.share:.1%}): {finding.message}; examples {examples}",
        f"\n      {finding.next_step}",
    )


def _part_table(report: XrayReport) -> Table:
    table = Table("part", box=None, pad_edge=False)
    for heading in ("trained", "masked", "share of trained"):
        table.add_column(heading, justify="right")
    for count in report.parts:
        share = count.num_trained / report.num_trained if report.num_trained else 0.0
        name = count.part.replace("_", " ")
        table.add_row(name, f"{count.num_trained:,}", f"{count.num_masked:,}", f"{share:.1%}")
    if report.num_padding:
        table.add_row("padding", "", f"{report.num_padding:,}", "")
    return table


def _legend(has_colour: bool) -> Text:
    if not has_colour:
        return Text("\n⟦trained⟧ masked")
    legend = Text("\ntrained: ")
    for part, style in _TRAINED_STYLES.items():
        if part != "prompt":
            legend.append(part.replace("_", " "), style).append("  ")
    return legend.append("masked", _MASKED_STYLE)


def _print_row(row: XrayRow, console: Console, has_colour: bool) -> None:
    for segment in row.segments:
        console.print()
        findings = f": {', '.join(segment.findings)}" if segment.findings else ""
        title = f"example {segment.example}, tokens {segment.start} to {segment.end - 1}{findings}"
        console.rule(Text(title), align="left", style=_MASKED_STYLE)
        tokens = row.tokens[segment.start : segment.end]
        console.print(_coloured(tokens) if has_colour else _bracketed(tokens), soft_wrap=True)
    num_padding = sum(token.state == "padding" for token in row.tokens)
    if num_padding:
        console.rule(f"{num_padding:,} padding tokens", align="left", style=_MASKED_STYLE)


def _coloured(tokens: Sequence[XrayToken]) -> Text:
    text = Text()
    for token in tokens:
        style = _TRAINED_STYLES.get(token.part, "") if token.state == "trained" else _MASKED_STYLE
        text.append(_shown(token), style)
    return text


def _bracketed(tokens: Sequence[XrayToken]) -> Text:
    text = Text()
    for state, run in groupby(tokens, key=lambda token: token.state):
        shown = "".join(map(_shown, run))
        text.append(f"⟦{shown}⟧" if state == "trained" else shown)
    return text


def _shown(token: XrayToken) -> str:
    return visible_text(token.text).replace("\n", "↵\n")
