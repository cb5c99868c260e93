"""The X-ray report: what training sees of a dataset, and what is wrong with it."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pytest
from rich.console import Console
from support.encoders import make_encoder

from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError
from tunix_rt.datasets.xray.inspect import MEANINGS, XrayOptions, xray
from tunix_rt.datasets.xray.report import XrayReport, visible_text, xray_html
from tunix_rt.datasets.xray.views import print_xray
from tunix_rt.tokenization.encoding import FindingCode
from tunix_rt.tokenization.packing import Batches, BatchSettings
from tunix_rt.traces.types import Trace, trace_from_text_steps

SIX_SEVENS = trace_from_text_steps("What is 6 * 7?", ["six sevens", "6 * 7 = 42"], "42")
TWO_TWOS = trace_from_text_steps("What is 2 + 2?", ["2 + 2 = 4"], "4")
MANY = [trace_from_text_steps(f"q{i}", ["work"] * (i % 5 + 1), str(i)) for i in range(30)]

NO_END_OF_TURN = """\
{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"""
NO_GENERATION_PROMPT = "{% for m in messages %}<bos>{{ m.role }} {{ m.content }}<eos>{% endfor %}"
UPPER_CASE = "{% for m in messages %}{{ m.content | upper }}<eos>{% endfor %}"


def codes(report: XrayReport) -> dict[str, int]:
    return {finding.code: finding.count for finding in report.findings}


def make_report(*traces: Trace, template: str = "gemma", **options: object) -> XrayReport:
    return xray(traces or MANY, make_encoder(template), XrayOptions(**options))  # type: ignore[arg-type]


def test_good_dataset_has_no_findings() -> None:
    report = make_report()
    assert report.passed
    assert report.findings == ()


def test_only_completions_are_trained() -> None:
    trained = {count.part: count.num_trained for count in make_report().parts}
    masked = {count.part: count.num_masked for count in make_report().parts}
    assert trained["prompt"] == 0
    assert trained["end_of_turn"] == 30
    assert trained["answer"] == sum(len(str(i)) for i in range(30))
    assert masked["reasoning"] == masked["answer"] == masked["end_of_turn"] == 0


def test_row_tokens_spell_text() -> None:
    [row] = make_report(SIX_SEVENS).rows
    assert "".join(token.text for token in row.tokens) == (
        "<bos><start_of_turn>user\nWhat is 6 * 7?<end_of_turn>\n<start_of_turn>model\n"
        "<reasoning>\nsix sevens\n6 * 7 = 42\n</reasoning>\n<answer>42</answer><end_of_turn>"
    )


def test_padding_is_counted() -> None:
    report = make_report(SIX_SEVENS, TWO_TWOS, row_length=120, max_rows=2)
    assert [len(row.tokens) for row in report.rows] == [120, 120]
    assert report.rows[0].tokens[-1].state == "padding"
    assert report.num_padding == 240 - report.num_tokens
    assert report.fill_ratio == pytest.approx(report.num_tokens / 240)


@pytest.mark.parametrize("packed", [True, False])
def test_rows_match_training_batches(packed: bool) -> None:
    encoder = make_encoder()
    report = xray(MANY, encoder, XrayOptions(row_length=200, packed=packed, max_rows=100))
    settings = BatchSettings(row_length=200, rows_per_batch=1, packed=packed)
    batches = Batches(encoder.encode(MANY), settings, pad_id=encoder.tokenizer.pad_id)
    expected = [batches.batch(i) for i in range(batches.num_batches_per_epoch)]
    shown = {tuple(s.example for s in row.segments): row for row in report.rows}
    assert set(shown) == {batch.examples[0] for batch in expected}
    for batch in expected:
        row = shown[batch.examples[0]]
        assert [token.id for token in row.tokens] == batch.tokens[0].tolist()
        trained = [int(token.state == "trained") for token in row.tokens]
        assert [*trained[1:], 0] == batch.loss_mask[0].tolist()
        assert [token.state == "padding" for token in row.tokens] == (batch.segment_ids[0] == 0).tolist()
    assert report.fill_ratio == pytest.approx(batches.fill_ratio)


def test_requested_example_comes_first() -> None:
    assert make_report(index=7).rows[0].segments[0].example == 7
    packed = make_report(index=7, row_length=200, packed=True).rows[0]
    assert 7 in [segment.example for segment in packed.segments]


def test_unknown_example_is_refused() -> None:
    with pytest.raises(NotFoundError, match="Example 30"):
        make_report(index=30)


def test_prompt_only_loss_is_reported() -> None:
    report = make_report(loss_on="prompt")
    assert not report.passed
    assert codes(report) == {"answer-not-trained": 30, "prompt-trained": 30, "end-of-turn-not-trained": 30}
    assert report.findings[0].share == 1.0


def test_loss_on_all_trains_prompt() -> None:
    assert codes(make_report(loss_on="all")) == {"prompt-trained": 30}


def test_truncated_answers_are_counted() -> None:
    lengths = [make_report(trace).num_tokens for trace in MANY]
    row_length = int(np.median(lengths))
    num_long = sum(length > row_length for length in lengths)
    report = make_report(row_length=row_length)
    [overlong] = [finding for finding in report.findings if finding.code == "overlong-examples"]
    assert (overlong.count, overlong.share) == (num_long, num_long / 30)
    assert codes(report)["truncated-answers"] > 0
    assert codes(report)["end-of-turn-not-trained"] == num_long


def test_short_row_shows_cut() -> None:
    [row] = make_report(SIX_SEVENS, row_length=30).rows
    assert len(row.tokens) == 30
    assert "".join(token.text for token in row.tokens).endswith("6 * 7 = 42")


def test_rows_shorter_than_prompt_train_nothing() -> None:
    assert codes(make_report(row_length=5))["zero-loss-examples"] == 30


@pytest.mark.parametrize(
    ("template", "code"),
    [
        (NO_END_OF_TURN, "end-of-turn-not-trained"),
        (NO_GENERATION_PROMPT, "template-without-generation-prompt"),
        (UPPER_CASE, "template-changes-content"),
    ],
)
def test_bad_template_is_reported(template: str, code: str) -> None:
    report = make_report(SIX_SEVENS, template=template)
    assert not report.passed
    assert code in codes(report)


def test_quoted_control_token_is_warning() -> None:
    report = make_report(SIX_SEVENS, trace_from_text_steps("What is <eos>?", ["A token."], "<eos>"))
    assert report.passed
    assert [(f.code, f.count, f.examples) for f in report.findings] == [("special-token-in-content", 1, (1,))]


def test_unrenderable_traces_are_counted() -> None:
    report = make_report(trace_from_text_steps("q", ["<answer>"], "1"), SIX_SEVENS)
    assert codes(report) == {"markup-in-content": 1}
    assert report.findings[0].examples == (0,)
    assert report.rows[0].segments[0].example == 1


def test_empty_dataset_is_refused() -> None:
    with pytest.raises(DataError, match="no example"):
        xray([], make_encoder())


def test_max_examples_marks_report_partial() -> None:
    report = make_report(max_examples=10)
    assert (report.num_examples, report.is_partial) == (10, True)
    assert not make_report(max_examples=30).is_partial


def test_packed_rows_need_length() -> None:
    with pytest.raises(InvalidInputError, match="length"):
        make_report(packed=True)


def test_findings_are_documented() -> None:
    documented = (Path(__file__).parents[3] / "docs" / "xray.md").read_text(encoding="utf-8")
    assert set(MEANINGS) == set(get_args(FindingCode))
    rows = [f"| `{code}` | {meaning.severity} |" for code, meaning in MEANINGS.items()]
    assert [row for row in rows if row not in documented] == []


def render_terminal(report: XrayReport, *, colour: bool, no_color: bool = False) -> str:
    file = io.StringIO()
    system: Literal["truecolor"] | None = "truecolor" if colour else None
    print_xray(
        report, Console(file=file, width=100, color_system=system, force_terminal=colour, no_color=no_color)
    )
    return file.getvalue()


def test_terminal_view_brackets_trained_tokens(
    assert_golden: Callable[[str, str], None],
) -> None:
    report = make_report(SIX_SEVENS, TWO_TWOS, row_length=200, packed=True)
    assert_golden("xray_terminal.txt", render_terminal(report, colour=False))


def test_json_report_matches_golden_file(assert_golden: Callable[[str, str], None]) -> None:
    report = make_report(TWO_TWOS, row_length=64, loss_on="prompt")
    text = report.model_dump_json(indent=1, exclude={"tokenizer_fingerprint"})
    assert_golden("xray_report.json", text + "\n")


def test_terminal_view_colours_answer() -> None:
    assert "\x1b[1;30;42m4\x1b[0m" in render_terminal(make_report(TWO_TWOS), colour=True)


def test_no_color_uses_brackets() -> None:
    assert "⟦<reasoning>" in render_terminal(make_report(TWO_TWOS), colour=True, no_color=True)


def test_terminal_view_escapes_control_characters() -> None:
    hostile = trace_from_text_steps("\x1b]0;owned\x07", ["\u202egnitset \x9b31m"], "[red]1[/red]")
    output = render_terminal(make_report(hostile), colour=False)
    assert not re.search("[\x1b\x07\x9b\u202e]", output)
    assert "[red]1[/red]" in output


def test_visible_text_escapes_only_control_characters() -> None:
    assert visible_text("a\tü\n日本 👩‍🔬") == "a\tü\n日本 👩‍🔬"
    assert visible_text("\x1b\x00\u202e") == "\\x1b\\x00\\u202e"


def test_html_escapes_traces() -> None:
    hostile = trace_from_text_steps(
        "<script>alert(1)</script>", ['"><img src=x onerror=alert(1)>'], "</main>"
    )
    page = xray_html(make_report(hostile), title="<b>title</b>")
    assert "<img" not in page
    assert page.count("<script>") == page.count("</script>") == 1
    assert page.count("</main>") == 1
    assert "<b>title" not in page


def test_html_needs_no_network() -> None:
    page = xray_html(make_report())
    assert not re.search(r"https?://|@import|url\(|<link|src=", page)
    assert "default-src 'none'" in page


def test_html_shows_findings_and_tokens() -> None:
    report = make_report(SIX_SEVENS, TWO_TWOS, loss_on="prompt", max_rows=2)
    page = xray_html(report)
    assert page.index("answer-not-trained") < page.index("Share of trained") < page.index('class="tokens"')
    assert page.count("data-id=") == sum(len(row.tokens) for row in report.rows)
