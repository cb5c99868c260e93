"""Built-in and model chat templates; saving a tokenizer with its template."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError
from tunix_rt.base.files.atomic import write_atomically, write_json_atomically
from tunix_rt.tokenization.tokenizer import Tokenizer

TEMPLATES_DIR = Path(__file__).parent / "templates"
DEFAULT_TEMPLATE = "tunix-rt"
# Some templates insert the current date. It is fixed to the fallback of Llama, so that a dataset always has
# the same tokens.
TEMPLATE_DATE = datetime(2024, 7, 26)


@dataclass(frozen=True)
class ChatTemplate:
    """A Jinja chat template, bound to the control tokens of one tokenizer."""

    name: str
    """The source: `tokenizer`, a built-in name, or a file name."""
    source: str = field(repr=False)
    named_tokens: Mapping[str, str] = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """The hash that evaluations and runs record."""
        return hashlib.sha256(self.source.encode("utf-8")).hexdigest()

    @cached_property
    def reacts_to_generation_prompt(self) -> bool:
        """Whether `add_generation_prompt` changes the rendered text."""
        question = [{"role": "user", "content": "?"}]
        return self.render(question, add_generation_prompt=True) != self.render(
            question, add_generation_prompt=False
        )

    def render(self, messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool) -> str:
        """The text of a conversation.

        Raises:
            DataError: The template rejects these messages or fails.
        """
        template = _compiled(self.source, self.name)
        try:
            return template.render(
                messages=messages, add_generation_prompt=add_generation_prompt, **self.named_tokens
            )
        except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise DataError(
                f"The chat template {self.name!r} fails: {error}",
                next_step="Choose another template; docs/templates.md lists the built-in ones.",
            ) from error


def builtin_template_names() -> list[str]:
    """The names that `--template` accepts besides a path."""
    return sorted(path.stem for path in TEMPLATES_DIR.glob("*.jinja"))


def choose_template(tokenizer: Tokenizer, requested: str | None = None) -> ChatTemplate:
    """The requested built-in template, or the template of the tokenizer, or the built-in default.

    Raises:
        NotFoundError: No built-in template has the requested name.
    """
    if requested is None and tokenizer.chat_template is not None:
        return ChatTemplate("tokenizer", tokenizer.chat_template, tokenizer.named_tokens)
    name = requested or DEFAULT_TEMPLATE
    if name not in builtin_template_names():
        raise NotFoundError(
            f"There is no built-in template {name!r}.",
            next_step=f"Choose one of: {', '.join(builtin_template_names())}.",
        )
    source = (TEMPLATES_DIR / f"{name}.jinja").read_text(encoding="utf-8")
    return ChatTemplate(name, source, tokenizer.named_tokens)


def template_from_file(tokenizer: Tokenizer, path: Path) -> ChatTemplate:
    """A template from a `.jinja` file. For the command line only: HTTP clients must not name paths."""
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(
            f"The template {path} cannot be read: {error}", next_step="Pass a UTF-8 Jinja file."
        ) from error
    return ChatTemplate(path.name, source, tokenizer.named_tokens)


@lru_cache(maxsize=16)
def _compiled(source: str, name: str) -> Template:
    try:
        return _environment().from_string(source)
    except TemplateSyntaxError as error:
        raise InvalidInputError(
            f"The chat template {name!r} is not valid Jinja: line {error.lineno}: {error.message}",
            next_step="Correct it, or choose another template; docs/templates.md lists the built-in ones.",
        ) from error


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    """The environment of transformers, for which published chat templates are written."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationBlock, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = TEMPLATE_DATE.strftime
    return environment


class _GenerationBlock(Extension):
    """`{% generation %}…{% endgeneration %}` renders its body; it does not affect the loss mask."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _to_json(value: Any, indent: int | None = None) -> str:
    # The filter of Jinja escapes HTML, which would put &lt; into prompts.
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


_WHAT = "writing the tokenizer"


def save_tokenizer(
    directory: Path, tokenizer: Tokenizer, template: ChatTemplate, *, max_positions: int
) -> None:
    """Save the tokenizer, its control tokens and the chat template exactly as used in training."""
    with write_atomically(directory / "tokenizer.json", what=_WHAT) as file:
        file.write(tokenizer.fast.to_str(pretty=True).encode("utf-8"))
    decoder = tokenizer.fast.get_added_tokens_decoder()
    named = set(tokenizer.named_tokens.values())
    controls = [decoder[token_id].content for token_id in sorted(tokenizer.control_token_ids)]
    config = {
        # Loads tokenizer.json unchanged; the classes of model families rebuild parts of it.
        "tokenizer_class": "PreTrainedTokenizerFast",
        **tokenizer.named_tokens,
        "additional_special_tokens": [text for text in controls if text not in named],
        "model_max_length": max_positions,
        "clean_up_tokenization_spaces": False,
    }
    write_json_atomically(directory / "tokenizer_config.json", config, what=_WHAT)
    with write_atomically(directory / "chat_template.jinja", what=_WHAT) as file:
        file.write(template.source.encode("utf-8"))
