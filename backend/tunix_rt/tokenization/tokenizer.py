"""A Hugging Face tokenizer with offsets, control tokens and a fingerprint."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Encoding
from tokenizers import Tokenizer as FastTokenizer

from tunix_rt.base.assets import shipped_tokenizer_dir, shipped_tokenizer_names
from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.base.hub import TOKENIZER_FILES, download_files, is_hub_id, local_directory

NAMED_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token")


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """A tokenizer with the control tokens and the chat template of its configuration."""

    name: str
    fast: FastTokenizer = field(repr=False)
    named_tokens: Mapping[str, str]
    """`bos_token`, `eos_token`, … as templates use them; only those that exist."""
    chat_template: str | None = field(repr=False)

    def encode_batch(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode texts that contain the control tokens of a template; adds no tokens."""
        return self.fast.encode_batch(list(texts), add_special_tokens=False)

    def encode_as_content(self, text: str) -> Encoding:
        """Encode content: `<end_of_turn>` in it is plain text, never the control token."""
        return self._fast_without_control_tokens.encode(text, add_special_tokens=False)

    @cached_property
    def control_token_ids(self) -> frozenset[int]:
        """The ids of the control tokens."""
        decoder = self.fast.get_added_tokens_decoder()
        return frozenset(token_id for token_id, token in decoder.items() if token.special)

    @cached_property
    def control_token_pattern(self) -> re.Pattern[str] | None:
        """Matches the text of any control token; None if there are none."""
        tokens = self.fast.get_added_tokens_decoder().values()
        contents = sorted((token.content for token in tokens if token.special), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, contents))) if contents else None

    @cached_property
    def vocab_size(self) -> int:
        """The largest id of the tokenizer plus one."""
        return 1 + max(self.fast.get_vocab(with_added_tokens=True).values())

    @cached_property
    def pad_id(self) -> int:
        """The padding id. It may equal a real token, because padding is identified by its segment."""
        ids = [self.token_id(self.named_tokens.get(name, "")) for name in ("pad_token", "eos_token")]
        return next((token_id for token_id in ids if token_id is not None), 0)

    def token_id(self, text: str) -> int | None:
        """The id of a token by its text; None when the vocabulary lacks it."""
        return self.fast.token_to_id(text) if text else None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything that affects tokenization."""
        named_tokens = json.dumps(dict(self.named_tokens), sort_keys=True)
        parts = (self.fast.to_str(), named_tokens, self.chat_template or "")
        return hashlib.sha256("\x00".join(parts).encode("utf-8")).hexdigest()

    @cached_property
    def _fast_without_control_tokens(self) -> FastTokenizer:
        # A copy, because the setting is part of the object and other threads use the original.
        copy = FastTokenizer.from_str(self.fast.to_str())
        copy.encode_special_tokens = True
        return copy


def load_tokenizer(source: str, *, allow_directories: bool = True, online: bool = True) -> Tokenizer:
    """Load a tokenizer: a built-in name (`tiny`), a local directory, or a hub id (`owner/name`).

    Pass both flags as False for HTTP requests: clients must not name paths or trigger downloads. A hub id
    then refers to the local cache.

    Raises:
        NotFoundError: No built-in, directory or hub repository has this name.
        InvalidInputError: The files found there are not a usable tokenizer.
    """
    if source in shipped_tokenizer_names():
        return load_tokenizer_directory(shipped_tokenizer_dir(source), name=source)
    if allow_directories and (directory := local_directory(source)) is not None:
        return load_tokenizer_directory(directory, name=directory.resolve().name)
    if is_hub_id(source):
        return load_tokenizer_directory(download_files(source, TOKENIZER_FILES, online=online), name=source)
    raise NotFoundError(
        f"There is no tokenizer {source!r}: it is not built in, not a directory and not a hub id.",
        next_step=f"Use {' or '.join(shipped_tokenizer_names())}, a directory that holds tokenizer.json, "
        "or a hub id such as google/gemma-3-1b-it.",
    )


def load_tokenizer_directory(directory: Path, *, name: str) -> Tokenizer:
    """Load `tokenizer.json`, `tokenizer_config.json` and `chat_template.jinja`."""
    path = directory / "tokenizer.json"
    if not path.is_file():
        raise NotFoundError(
            f"{name!r} has no tokenizer.json.",
            next_step="Save it with a fast tokenizer (tokenizer.save_pretrained), or choose another model.",
        )
    config = _read_json_object(directory / "special_tokens_map.json", name)
    config |= _read_json_object(directory / "tokenizer_config.json", name)
    try:
        fast = FastTokenizer.from_file(str(path))
    # The Rust library raises a bare Exception for a malformed file.
    except Exception as error:
        raise InvalidInputError(
            f"The tokenizer.json of {name!r} cannot be read: {error}",
            next_step="Download or save the tokenizer again.",
        ) from error
    # Saved truncation or padding settings would silently change texts.
    fast.no_truncation()
    fast.no_padding()
    # Named tokens become control tokens, even if `tokenizer.json` does not mark them as special.
    decoder = fast.get_added_tokens_decoder()
    special = {token.content for token in decoder.values() if token.special}
    named = [_token_text(config.get(key)) for key in NAMED_TOKENS]
    named += [_token_text(token) for token in config.get("additional_special_tokens") or []]
    missing = [text for text in named if text and text not in special and fast.token_to_id(text) is not None]
    fast.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in missing])
    return Tokenizer(
        name=name,
        fast=fast,
        named_tokens={key: text for key in NAMED_TOKENS if (text := _token_text(config.get(key)))},
        chat_template=_read_chat_template(directory, config),
    )


def _read_json_object(path: Path, name: str) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    raise InvalidInputError(
        f"The {path.name} of {name!r} is not a JSON object.",
        next_step="Download or save the tokenizer again.",
    )


def _token_text(value: object) -> str:
    """The text of a token, given as a string or as `{"content": …}`."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""


def _read_chat_template(directory: Path, config: Mapping[str, Any]) -> str | None:
    path = directory / "chat_template.jinja"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    template = config.get("chat_template")
    if isinstance(template, list):
        named = {item.get("name"): item.get("template") for item in template if isinstance(item, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None
