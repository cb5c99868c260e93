"""Loading tokenizers and their metadata from names, directories and the hub."""

import json
from pathlib import Path

import pytest
from support.encoders import NAMED_TOKENS, make_tokenizer, write_tokenizer

from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.tokenizer import load_tokenizer


def test_builtin_tokenizer_loads_by_name() -> None:
    tokenizer = load_tokenizer("tiny")
    assert tokenizer.chat_template is not None
    assert tokenizer.vocab_size == tokenizer.fast.get_vocab_size()


def test_template_file_overrides_config(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, {**NAMED_TOKENS, "chat_template": "from the config"})
    assert load_tokenizer(str(tmp_path)).chat_template == "from the config"
    (tmp_path / "chat_template.jinja").write_text("from the file", encoding="utf-8")
    assert load_tokenizer(str(tmp_path)).chat_template == "from the file"


def test_default_named_template_is_used(tmp_path: Path) -> None:
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]
    write_tokenizer(tmp_path, {"chat_template": named})
    assert load_tokenizer(str(tmp_path)).chat_template == "plain"


def test_token_objects_are_read(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, {"eos_token": {"content": "<|im_end|>", "special": True}})
    assert load_tokenizer(str(tmp_path)).named_tokens == {"eos_token": "<|im_end|>"}


def test_named_tokens_are_control_tokens(tmp_path: Path) -> None:
    """This holds even if tokenizer.json does not list the token as added."""
    write_tokenizer(tmp_path)
    saved = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    saved["added_tokens"] = [token for token in saved["added_tokens"] if token["content"] != "<eos>"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(saved), encoding="utf-8")
    tokenizer = load_tokenizer(str(tmp_path))
    assert tokenizer.token_id("<eos>") in tokenizer.control_token_ids


def test_saved_truncation_is_disabled(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    saved = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    saved["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    (tmp_path / "tokenizer.json").write_text(json.dumps(saved), encoding="utf-8")
    [encoding] = load_tokenizer(str(tmp_path)).encode_batch(["far more than two tokens"])
    assert len(encoding.ids) > 2


def test_padding_defaults_to_eos(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, {"eos_token": "<eos>"})
    tokenizer = load_tokenizer(str(tmp_path))
    assert tokenizer.pad_id == tokenizer.token_id("<eos>")


def test_fingerprint_depends_on_template() -> None:
    assert make_tokenizer("one").fingerprint != make_tokenizer("two").fingerprint
    assert make_tokenizer("one").fingerprint == make_tokenizer("one").fingerprint


@pytest.mark.parametrize("file_name", ["tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("text", ["{", "[]", "\x00"])
def test_broken_file_is_named(tmp_path: Path, file_name: str, text: str) -> None:
    write_tokenizer(tmp_path)
    (tmp_path / file_name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=file_name.replace(".", r"\.")):
        load_tokenizer(str(tmp_path))


def test_missing_tokenizer_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"tokenizer\.json"):
        load_tokenizer(str(tmp_path))


@pytest.mark.parametrize("source", ["nonsense", "../etc", "/no/such/directory", "a/../b", "a/b/c", ""])
def test_unknown_source_lists_options(source: str) -> None:
    with pytest.raises(NotFoundError, match="tiny"):
        load_tokenizer(source)


def test_directories_can_be_disallowed(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    with pytest.raises(NotFoundError):
        load_tokenizer(str(tmp_path), allow_directories=False)


def test_offline_hub_error_suggests_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"HF_HUB_OFFLINE.*local directory"):
        load_tokenizer("no-such-owner/no-such-model")


def test_template_selection_order() -> None:
    assert choose_template(make_tokenizer()).name == "tunix-rt"
    assert choose_template(make_tokenizer("own")).name == "tokenizer"
    assert choose_template(make_tokenizer("own"), "chatml").name == "chatml"
