"""Where tokenizers come from and what is known about them."""

import json
from pathlib import Path

import pytest
from support.encoders import NAMED_TOKENS, a_tokenizer, write_tokenizer

from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.tokenizer import load_tokenizer


def test_the_built_in_tokenizer_loads_by_name() -> None:
    tokenizer = load_tokenizer("tiny")
    assert tokenizer.chat_template is not None
    assert tokenizer.vocab_size == tokenizer.fast.get_vocab_size()


def test_a_directory_loads_with_its_chat_template_file_first(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, {**NAMED_TOKENS, "chat_template": "from the config"})
    assert load_tokenizer(str(tmp_path)).chat_template == "from the config"
    (tmp_path / "chat_template.jinja").write_text("from the file", encoding="utf-8")
    assert load_tokenizer(str(tmp_path)).chat_template == "from the file"


def test_of_several_named_templates_the_default_one_is_taken(tmp_path: Path) -> None:
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]
    write_tokenizer(tmp_path, {"chat_template": named})
    assert load_tokenizer(str(tmp_path)).chat_template == "plain"


def test_tokens_written_as_objects_are_read(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, {"eos_token": {"content": "<|im_end|>", "special": True}})
    assert load_tokenizer(str(tmp_path)).named_tokens == {"eos_token": "<|im_end|>"}


def test_a_named_token_is_control_even_if_the_file_forgot_to_say_so(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    saved = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    saved["added_tokens"] = [token for token in saved["added_tokens"] if token["content"] != "<eos>"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(saved), encoding="utf-8")
    tokenizer = load_tokenizer(str(tmp_path))
    assert tokenizer.token_id("<eos>") in tokenizer.control_token_ids


def test_saved_truncation_and_padding_are_switched_off(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    saved = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    saved["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    (tmp_path / "tokenizer.json").write_text(json.dumps(saved), encoding="utf-8")
    [encoding] = load_tokenizer(str(tmp_path)).encode_batch(["far more than two tokens"])
    assert len(encoding.ids) > 2


def test_without_a_padding_token_rows_are_filled_with_the_end_token(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, {"eos_token": "<eos>"})
    tokenizer = load_tokenizer(str(tmp_path))
    assert tokenizer.pad_id == tokenizer.token_id("<eos>")


def test_the_fingerprint_changes_with_the_template() -> None:
    assert a_tokenizer("one").fingerprint != a_tokenizer("two").fingerprint
    assert a_tokenizer("one").fingerprint == a_tokenizer("one").fingerprint


@pytest.mark.parametrize("file_name", ["tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("text", ["{", "[]", "\x00"])
def test_a_broken_file_is_named(tmp_path: Path, file_name: str, text: str) -> None:
    write_tokenizer(tmp_path)
    (tmp_path / file_name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=file_name.replace(".", r"\.")):
        load_tokenizer(str(tmp_path))


def test_a_directory_without_a_tokenizer_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"tokenizer\.json"):
        load_tokenizer(str(tmp_path))


@pytest.mark.parametrize("source", ["nonsense", "../etc", "/no/such/directory", "a/../b", "a/b/c", ""])
def test_an_unknown_source_lists_what_may_be_given(source: str) -> None:
    with pytest.raises(NotFoundError, match="tiny"):
        load_tokenizer(source)


def test_a_client_cannot_name_a_directory(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    with pytest.raises(NotFoundError):
        load_tokenizer(str(tmp_path), allow_directories=False)


def test_offline_the_hub_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"HF_HUB_OFFLINE.*local directory"):
        load_tokenizer("no-such-owner/no-such-model")


def test_a_tokenizer_without_a_template_gets_the_built_in_one() -> None:
    assert choose_template(a_tokenizer()).name == "tunix-rt"
    assert choose_template(a_tokenizer("own")).name == "tokenizer"
    assert choose_template(a_tokenizer("own"), "chatml").name == "chatml"
