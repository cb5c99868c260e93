"""Chat templates support the published dialect and run in a sandbox."""

from pathlib import Path

import pytest
from support.encoders import make_tokenizer

from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError
from tunix_rt.tokenization.chat_template import (
    ChatTemplate,
    builtin_template_names,
    choose_template,
    template_from_file,
)
from tunix_rt.traces.completion import chat_messages


def render(source: str, *, add_generation_prompt: bool = False) -> str:
    template = ChatTemplate("test", source, {"eos_token": "<eos>"})
    return template.render(chat_messages("q", "a"), add_generation_prompt=add_generation_prompt)


def test_builtin_templates_are_documented() -> None:
    documented = Path(__file__).parents[3] / "docs" / "templates.md"
    text = documented.read_text(encoding="utf-8")
    assert [name for name in builtin_template_names() if f"`{name}`" not in text] == []


@pytest.mark.parametrize("name", builtin_template_names())
def test_builtin_prompt_is_conversation_prefix(name: str) -> None:
    template = choose_template(make_tokenizer(), name)
    prompt = template.render(chat_messages("q"), add_generation_prompt=True)
    whole = template.render(chat_messages("q", "a"), add_generation_prompt=False)
    assert whole.startswith(prompt + "a")


def test_generation_blocks_render_their_body() -> None:
    assert render("x{% generation %}{{ messages[1]['content'] }}{% endgeneration %}y") == "xay"


def test_tojson_does_not_escape_html() -> None:
    assert render("{{ {'a': '<ü>'} | tojson }}") == '{"a": "<ü>"}'


def test_missing_token_is_undefined() -> None:
    assert render("{% if bos_token is defined %}yes{% else %}no{% endif %}{{ eos_token }}") == "no<eos>"


def test_strftime_now_is_constant() -> None:
    assert render("{{ strftime_now('%d %b %Y') }}") == "26 Jul 2024"


def test_loop_controls_work() -> None:
    assert render("{% for m in messages %}{{ m.role }}{% break %}{% endfor %}") == "user"


@pytest.mark.parametrize(
    "source",
    [
        "{{ raise_exception('no system role') }}",
        "{{ messages + 1 }}",
        "{{ messages[5].role }}",
        "{{ 1 / 0 }}",
    ],
)
def test_failing_template_is_data_error(source: str) -> None:
    with pytest.raises(DataError, match="template 'test' fails"):
        render(source)


@pytest.mark.parametrize(
    "source",
    ["{{ messages.append(1) }}", "{{ ''.__class__.__mro__ }}", "{{ range(10000000) | list | length }}"],
)
def test_template_cannot_escape_sandbox(source: str) -> None:
    with pytest.raises(DataError):
        render(source)


def test_invalid_jinja_names_line() -> None:
    with pytest.raises(InvalidInputError, match="line 2"):
        render("fine\n{% if %}")


def test_template_file_is_read_and_hashed(tmp_path: Path) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text("{{ messages[0]['content'] }}", encoding="utf-8")
    template = template_from_file(make_tokenizer(), path)
    assert template.render(chat_messages("ü"), add_generation_prompt=True) == "ü"
    assert len(template.sha256) == 64


def test_missing_template_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        template_from_file(make_tokenizer(), tmp_path / "absent.jinja")


def test_unknown_template_lists_known_ones() -> None:
    with pytest.raises(NotFoundError, match="chatml, gemma, tunix-rt"):
        choose_template(make_tokenizer(), "llama9")
