"""The X-ray says what training would see, and what is wrong with it."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pytest
from rich.console import Console
from support.encoders import an_encoder

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


def an_xray(*traces: Trace, template: str = "gemma", **options: object) -> XrayReport:
    return xray(traces or MANY, an_encoder(template), XrayOptions(**options))  # type: ignore[arg-type]


def test_a_good_dataset_passes_without_findings() -> None:
    report = an_xray()
    assert report.passed
    assert report.findings == ()


def test_every_example_trains_reasoning_answer_and_one_end_of_turn() -> None:
    trained = {count.part: count.num_trained for count in an_xray().parts}
    masked = {count.part: count.num_masked for count in an_xray().parts}
    assert trained["prompt"] == 0
    assert trained["end_of_turn"] == 30
    assert trained["answer"] == sum(len(str(i)) for i in range(30))
    assert masked["reasoning"] == masked["answer"] == masked["end_of_turn"] == 0


def test_the_tokens_of_a_row_spell_its_text() -> None:
    [row] = an_xray(SIX_SEVENS).rows
    assert "".join(token.text for token in row.tokens) == (
        "<bos><start_of_turn>user\nWhat is 6 * 7?<end_of_turn>\n<start_of_turn>model\n"
        "<reasoning>\nsix sevens\n6 * 7 = 42\n</reasoning>\n<answer>42</answer><end_of_turn>"
    )


def test_padding_fills_the_row_and_is_counted() -> None:
    report = an_xray(SIX_SEVENS, TWO_TWOS, row_length=120, max_rows=2)
    assert [len(row.tokens) for row in report.rows] == [120, 120]
    assert report.rows[0].tokens[-1].state == "padding"
    assert report.num_padding == 240 - report.num_tokens
    assert report.fill_ratio == pytest.approx(report.num_tokens / 240)


@pytest.mark.parametrize("packed", [True, False])
def test_the_rows_are_those_that_training_gets(packed: bool) -> None:
    encoder = an_encoder()
    report = xray(MANY, encoder, XrayOptions(row_length=200, packed=packed, max_rows=100))
    settings = BatchSettings(row_length=200, rows_per_batch=1, packed=packed)
    batches = Batches(encoder.encode(MANY), settings, pad_id=encoder.tokenizer.pad_id)
    made = [batches.batch(i) for i in range(batches.num_batches_per_epoch)]
    shown = {tuple(s.example for s in row.segments): row for row in report.rows}
    assert set(shown) == {batch.examples[0] for batch in made}
    for batch in made:
        row = shown[batch.examples[0]]
        assert [token.id for token in row.tokens] == batch.tokens[0].tolist()
        trained = [int(token.state == "trained") for token in row.tokens]
        assert [*trained[1:], 0] == batch.loss_mask[0].tolist()
        assert [token.state == "padding" for token in row.tokens] == (batch.segment_ids[0] == 0).tolist()
    assert report.fill_ratio == pytest.approx(batches.fill_ratio)


def test_the_example_asked_for_is_in_the_first_row() -> None:
    assert an_xray(index=7).rows[0].segments[0].example == 7
    packed = an_xray(index=7, row_length=200, packed=True).rows[0]
    assert 7 in [segment.example for segment in packed.segments]


def test_an_example_that_does_not_exist_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="Example 30"):
        an_xray(index=30)


def test_loss_on_questions_only_is_exposed() -> None:
    report = an_xray(loss_on="prompt")
    assert not report.passed
    assert codes(report) == {"answer-not-trained": 30, "prompt-trained": 30, "end-of-turn-not-trained": 30}
    assert report.findings[0].share == 1.0


def test_loss_on_everything_trains_the_prompt() -> None:
    assert codes(an_xray(loss_on="all")) == {"prompt-trained": 30}


def test_short_rows_cut_answers_and_the_share_is_told() -> None:
    lengths = [an_xray(trace).num_tokens for trace in MANY]
    row_length = int(np.median(lengths))
    num_long = sum(length > row_length for length in lengths)
    report = an_xray(row_length=row_length)
    [overlong] = [finding for finding in report.findings if finding.code == "overlong-examples"]
    assert (overlong.count, overlong.share) == (num_long, num_long / 30)
    assert codes(report)["truncated-answers"] > 0
    assert codes(report)["end-of-turn-not-trained"] == num_long


def test_a_row_that_is_too_short_shows_where_it_cuts() -> None:
    [row] = an_xray(SIX_SEVENS, row_length=30).rows
    assert len(row.tokens) == 30
    assert "".join(token.text for token in row.tokens).endswith("6 * 7 = 42")


def test_rows_shorter_than_the_prompt_train_nothing() -> None:
    assert codes(an_xray(row_length=5))["zero-loss-examples"] == 30


@pytest.mark.parametrize(
    ("template", "code"),
    [
        (NO_END_OF_TURN, "end-of-turn-not-trained"),
        (NO_GENERATION_PROMPT, "template-without-generation-prompt"),
        (UPPER_CASE, "template-changes-content"),
    ],
)
def test_a_bad_template_is_found(template: str, code: str) -> None:
    report = an_xray(SIX_SEVENS, template=template)
    assert not report.passed
    assert code in codes(report)


def test_a_quoted_control_token_is_a_warning_that_passes() -> None:
    report = an_xray(SIX_SEVENS, trace_from_text_steps("What is <eos>?", ["A token."], "<eos>"))
    assert report.passed
    assert [(f.code, f.count, f.examples) for f in report.findings] == [("special-token-in-content", 1, (1,))]


def test_traces_that_cannot_be_rendered_are_counted_not_hidden() -> None:
    report = an_xray(trace_from_text_steps("q", ["<answer>"], "1"), SIX_SEVENS)
    assert codes(report) == {"markup-in-content": 1}
    assert report.findings[0].examples == (0,)
    assert report.rows[0].segments[0].example == 1


def test_a_dataset_with_nothing_to_show_is_an_error() -> None:
    with pytest.raises(DataError, match="no example"):
        xray([], an_encoder())


def test_looking_at_the_first_examples_says_so() -> None:
    report = an_xray(max_examples=10)
    assert (report.num_examples, report.is_partial) == (10, True)
    assert not an_xray(max_examples=30).is_partial


def test_packed_rows_need_a_length() -> None:
    with pytest.raises(InvalidInputError, match="length"):
        an_xray(packed=True)


def test_every_finding_has_a_meaning_and_is_documented() -> None:
    documented = (Path(__file__).parents[3] / "docs" / "xray.md").read_text(encoding="utf-8")
    assert set(MEANINGS) == set(get_args(FindingCode))
    rows = [f"| `{code}` | {meaning.severity} |" for code, meaning in MEANINGS.items()]
    assert [row for row in rows if row not in documented] == []


def in_terminal(report: XrayReport, *, colour: bool, no_color: bool = False) -> str:
    file = io.StringIO()
    system: Literal["truecolor"] | None = "truecolor" if colour else None
    print_xray(
        report, Console(file=file, width=100, color_system=system, force_terminal=colour, no_color=no_color)
    )
    return file.getvalue()


def test_the_terminal_view_without_colour_brackets_what_is_trained(
    assert_golden: Callable[[str, str], None],
) -> None:
    report = an_xray(SIX_SEVENS, TWO_TWOS, row_length=200, packed=True)
    assert_golden("xray_terminal.txt", in_terminal(report, colour=False))


def test_the_json_report_keeps_its_shape(assert_golden: Callable[[str, str], None]) -> None:
    report = an_xray(TWO_TWOS, row_length=64, loss_on="prompt")
    text = report.model_dump_json(indent=1, exclude={"tokenizer_fingerprint"})
    assert_golden("xray_report.json", text + "\n")


def test_the_terminal_view_colours_the_answer() -> None:
    assert "\x1b[1;30;42m4\x1b[0m" in in_terminal(an_xray(TWO_TWOS), colour=True)


def test_no_color_brackets_even_in_a_colour_terminal() -> None:
    assert "⟦<reasoning>" in in_terminal(an_xray(TWO_TWOS), colour=True, no_color=True)


def test_a_trace_cannot_send_commands_to_the_terminal() -> None:
    hostile = trace_from_text_steps("\x1b]0;owned\x07", ["\u202egnitset \x9b31m"], "[red]1[/red]")
    shown = in_terminal(an_xray(hostile), colour=False)
    assert not re.search("[\x1b\x07\x9b\u202e]", shown)
    assert "[red]1[/red]" in shown


def test_visible_text_keeps_line_breaks_and_writing() -> None:
    assert visible_text("a\tü\n日本 👩‍🔬") == "a\tü\n日本 👩‍🔬"
    assert visible_text("\x1b\x00\u202e") == "\\x1b\\x00\\u202e"


def test_the_page_escapes_what_traces_say() -> None:
    hostile = trace_from_text_steps(
        "<script>alert(1)</script>", ['"><img src=x onerror=alert(1)>'], "</main>"
    )
    page = xray_html(an_xray(hostile), title="<b>title</b>")
    assert "<img" not in page
    assert page.count("<script>") == page.count("</script>") == 1
    assert page.count("</main>") == 1
    assert "<b>title" not in page


def test_the_page_needs_no_network() -> None:
    page = xray_html(an_xray())
    assert not re.search(r"https?://|@import|url\(|<link|src=", page)
    assert "default-src 'none'" in page


def test_the_page_shows_findings_before_counts_and_every_token() -> None:
    report = an_xray(SIX_SEVENS, TWO_TWOS, loss_on="prompt", max_rows=2)
    page = xray_html(report)
    assert page.index("answer-not-trained") < page.index("Share of trained") < page.index('class="tokens"')
    assert page.count("data-id=") == sum(len(row.tokens) for row in report.rows)
