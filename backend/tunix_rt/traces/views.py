"""Terminal output for traces."""

from rich.text import Text

from tunix_rt.base.terminal.output import out, print_table, say
from tunix_rt.traces.linter.findings import Finding, LintReport
from tunix_rt.traces.service import StoredComparison, TraceDetail, TraceList

_PROMPT_CHARS = 60


def print_list(page: TraceList) -> None:
    """Print a page of traces as a table."""
    if not page.data and page.pagination.total == 0:
        say("No traces match. Add some: tunix-rt traces import FILE, or: tunix-rt traces generate")
    else:
        rows = [
            (
                item.id,
                _short(item.prompt_start),
                item.num_steps,
                item.source,
                "–" if item.score is None else f"{item.score:.0f}",
            )
            for item in page.data
        ]
        print_table(("id", "prompt", "steps", "source", "score"), rows)
        first = page.pagination.offset + 1
        say(f"{first}–{page.pagination.offset + len(page.data)} of {page.pagination.total}")
    if page.num_unscored:
        say(f"{page.num_unscored} more were never linted and have no score: tunix-rt traces lint")


def print_trace(detail: TraceDetail, report: LintReport | None) -> None:
    """Print a trace with every finding below the text it refers to."""
    trace = detail.payload
    out.print(Text(f"{detail.id}   {detail.created_at:%Y-%m-%d %H:%M} UTC", style="dim"))
    out.print(Text("prompt", style="bold"))
    out.print(Text(trace.prompt))
    for step in trace.steps:
        out.print(Text(f"{step.i} {step.type}", style="bold"))
        findings = [item for item in report.findings if item.step == step.i] if report else []
        text = Text(step.content)
        for finding in findings:
            text.stylize("underline red", *finding.span)
        out.print(text)
        for finding in findings:
            out.print(_finding_line(finding))
    out.print(Text("answer", style="bold"))
    out.print(Text(trace.final_answer))
    for finding in report.findings if report else ():
        if finding.step is None:
            out.print(_finding_line(finding))
    if report is None:
        say("never linted: tunix-rt traces lint")
    else:
        say(f"score {report.score:.1f} of 100 (linter {report.linter_version})")


def print_comparison(compared: StoredComparison) -> None:
    """Print two traces, one line per pair of steps."""
    marks = {"same": "=", "changed": "~", "added": "+", "removed": "-"}
    rows = [
        (
            marks[line.kind],
            line.base.content if line.base else "",
            line.other.content if line.other else "",
            f"{line.similarity:.2f}" if line.kind == "changed" else "",
        )
        for line in compared.comparison.steps
    ]
    print_table(("", f"base {compared.base.id}", f"other {compared.other.id}", "similarity"), rows)
    answers = (compared.base.payload.final_answer, compared.other.payload.final_answer)
    verdict = "same answer" if compared.comparison.same_answer else "different answers"
    say(f"{verdict}: {answers[0]} | {answers[1]}")
    if not compared.comparison.same_prompt:
        say("The prompts differ.")


def _finding_line(finding: Finding) -> Text:
    expected = f", expected {finding.expected}" if finding.expected else ""
    return Text(f"  ^ {finding.code}: {finding.found}{expected}", style="red")


def _short(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= _PROMPT_CHARS else line[: _PROMPT_CHARS - 1] + "…"
