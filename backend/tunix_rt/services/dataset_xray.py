"""The X-ray of a dataset by its key."""

from dataclasses import dataclass
from pathlib import Path

from tunix_rt.core.xray import XrayReport
from tunix_rt.services.datasets import iter_rows
from tunix_rt.services.xray import XrayOptions, xray
from tunix_rt.tokenization.chat_template import choose_template, template_from_file
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.tokenizer import load_tokenizer
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle


@dataclass(frozen=True)
class ModelChoice:
    """Whose tokens: the tokenizer, the chat template and the markup."""

    model: str
    template: str | None = None
    """Name of a built-in template; None for the tokenizer's own."""
    template_file: Path | None = None
    markup: MarkupStyle = DEFAULT_MARKUP
    is_remote: bool = False
    """Whether the names come over HTTP: then they can name nothing on this disk and fetch nothing."""

    def encoder(self) -> TraceEncoder:
        """The encoder that training would use for this choice."""
        tokenizer = load_tokenizer(
            self.model, allow_directories=not self.is_remote, online=not self.is_remote
        )
        if self.template_file is not None:
            template = template_from_file(tokenizer, self.template_file)
        else:
            template = choose_template(tokenizer, self.template)
        return TraceEncoder(tokenizer, template, self.markup)


def xray_dataset(
    datasets_dir: Path, key: str, choice: ModelChoice, options: XrayOptions, *, split: str | None = None
) -> XrayReport:
    """Look at a stored dataset as training would; by default at all of its splits.

    Raises:
        NotFoundError: no such dataset, split, model, template or example.
    """
    encoder = choice.encoder()
    return xray((row.trace() for row in iter_rows(datasets_dir, key, split)), encoder, options)
