"""Encode and pack a dataset, and find problems: masked answers, truncation, template errors."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tunix_rt.base.assets import shipped_tokenizer_names
from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError
from tunix_rt.base.hub import absolute_if_directory
from tunix_rt.datasets.service import iter_rows
from tunix_rt.datasets.xray.report import (
    LossOn,
    PartCount,
    Severity,
    XrayFinding,
    XrayReport,
    XrayRow,
    XraySegment,
    XrayToken,
)
from tunix_rt.tokenization.chat_template import choose_template, template_from_file
from tunix_rt.tokenization.encoding import PARTS, EncodedExample, FindingCode, TokenPart, TraceEncoder
from tunix_rt.tokenization.packing import plan_rows
from tunix_rt.tokenization.tokenizer import load_tokenizer
from tunix_rt.traces.completion import render_completion
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle, Trace

MAX_EXAMPLES_NAMED = 5


class _Meaning(NamedTuple):
    severity: Severity
    message: str
    next_step: str


MEANINGS: Mapping[FindingCode, _Meaning] = {
    "markup-in-content": _Meaning(
        "error",
        "a step or the answer holds the markup itself, so the trace cannot be rendered",
        "Remove the markup from these traces, or choose another --markup style.",
    ),
    "template-without-generation-prompt": _Meaning(
        "error",
        "the template writes no generation prompt, so generation would begin from another text than training",
        "Choose another --template, or add a generation prompt to this one (docs/templates.md).",
    ),
    "template-changes-content": _Meaning(
        "error",
        "the template changes the prompt or the completion; the answer cannot be found in its text",
        "Choose another --template or --markup style.",
    ),
    "zero-loss-examples": _Meaning(
        "error",
        "no token carries loss: the model learns nothing from these",
        "Check --template and --row-length.",
    ),
    "answer-not-trained": _Meaning(
        "error",
        "the answer carries no loss: the model never learns to give it",
        "Train on completions; if the answers are cut off, use a longer --row-length.",
    ),
    "prompt-trained": _Meaning(
        "error",
        "the prompt carries loss: the model learns to write questions",
        "Train on completions only, as Tunix RT does.",
    ),
    "overlong-examples": _Meaning(
        "error",
        "longer than the row; training refuses them unless told to drop them",
        "Use a longer --row-length, or train with overlong: drop.",
    ),
    "truncated-answers": _Meaning(
        "error",
        "the row ends before the answer does",
        "Use a longer --row-length, or train with overlong: drop.",
    ),
    "end-of-turn-not-trained": _Meaning(
        "error",
        "no end-of-turn token is trained: the model never learns to stop",
        "Choose a --template that ends turns with a control token of this tokenizer; if rows cut it off, "
        "use a longer --row-length.",
    ),
    "special-token-in-content": _Meaning(
        "warning",
        "the content quotes a control token; it is encoded as letters, never as the token",
        "Remove it if it is a leftover of another template.",
    ),
    "template-adds-text": _Meaning(
        "info",
        "the template writes text of its own at the start of the completion, which is trained too",
        "Nothing, if the model expects it; otherwise choose another --template or --markup style.",
    ),
}
"""All codes, in the order in which findings are shown."""


def findings_of(example: EncodedExample, row_length: int | None) -> set[FindingCode]:
    """The problems of one example with any loss mask, in a row of this length."""
    found = set(example.problems)
    trained = example.parts[:row_length][example.loss_mask[:row_length] == 1]
    is_trained = np.bincount(trained, minlength=len(PARTS)) > 0
    if not is_trained.any():
        found.add("zero-loss-examples")
    if not is_trained[_code("answer")]:
        found.add("answer-not-trained")
    if is_trained[_code("prompt")]:
        found.add("prompt-trained")
    if not is_trained[_code("end_of_turn")]:
        found.add("end-of-turn-not-trained")
    if row_length is not None and len(example) > row_length:
        found.add("overlong-examples")
        if (example.parts[row_length:] == _code("answer")).any():
            found.add("truncated-answers")
    return found


def summarise(
    positions_by_code: Mapping[FindingCode, list[int]], num_examples: int
) -> tuple[XrayFinding, ...]:
    """One finding per code, with the number of affected examples and the first of them."""
    return tuple(
        XrayFinding(
            code=code,
            severity=meaning.severity,
            count=len(positions),
            share=len(positions) / num_examples,
            message=meaning.message,
            next_step=meaning.next_step,
            examples=tuple(positions[:MAX_EXAMPLES_NAMED]),
        )
        for code, meaning in MEANINGS.items()
        if (positions := positions_by_code.get(code, []))
    )


def _code(part: TokenPart) -> int:
    return PARTS.index(part)


@dataclass(frozen=True)
class XrayOptions:
    """What to inspect, and the layout of the rows."""

    row_length: int | None = None
    """Tokens per row. None: one example per row, without padding."""
    packed: bool = False
    index: int | None = None
    """The example to show; its row comes first."""
    max_rows: int = 1
    """Rows to show. The counts cover all examples."""
    max_examples: int | None = 10_000
    """Examples to inspect; None for all."""
    loss_on: LossOn = "completion"
    """Training always uses `completion`; the others show what a wrong mask would train."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.packed and self.row_length is None:
            raise InvalidInputError(
                "Packed rows need a length.", next_step="Pass a row length, e.g. --row-length 512."
            )
        if self.row_length is not None and self.row_length < 2:
            raise InvalidInputError("A row needs at least 2 tokens.", next_step="Pass a longer row length.")


@dataclass(frozen=True)
class _Inspected:
    """One inspected example."""

    position: int
    example: EncodedExample
    findings: set[FindingCode]


def xray(traces: Iterable[Trace], encoder: TraceEncoder, options: XrayOptions | None = None) -> XrayReport:
    """Inspect a dataset as training would see it.

    Raises:
        DataError: There is no trace that can be rendered.
        NotFoundError: The requested example does not exist.
    """
    options = options or XrayOptions()
    remaining = iter(traces)
    inspected, skipped = _inspect(islice(remaining, options.max_examples), encoder, options)
    if not inspected:
        raise DataError(
            "There is no example to show.", next_step="Check the dataset, its split and --markup."
        )
    num_examples = len(inspected) + len(skipped)
    rows = _rows(inspected, options)
    positions: dict[FindingCode, list[int]] = defaultdict(list, {"markup-in-content": skipped})
    for item in inspected:
        for code in item.findings:
            positions[code].append(item.position)
    findings = summarise(positions, num_examples)
    counts = _part_counts(inspected, options.row_length)
    num_tokens = sum(count.num_trained + count.num_masked for count in counts)
    num_cells = len(rows) * options.row_length if options.row_length else num_tokens
    return XrayReport(
        passed=all(finding.severity != "error" for finding in findings),
        tokenizer=encoder.tokenizer.name,
        tokenizer_fingerprint=encoder.tokenizer.fingerprint,
        template=encoder.template.name,
        template_sha256=encoder.template.sha256,
        markup=encoder.markup,
        loss_on=options.loss_on,
        packed=options.packed,
        row_length=options.row_length,
        num_examples=num_examples,
        is_partial=next(remaining, None) is not None,
        num_rows=len(rows),
        num_tokens=num_tokens,
        num_trained=sum(count.num_trained for count in counts),
        num_padding=num_cells - num_tokens,
        fill_ratio=num_tokens / num_cells,
        longest_example=max(len(item.example) for item in inspected),
        parts=counts,
        findings=findings,
        rows=tuple(_shown(row, encoder, options.row_length) for row in _chosen(rows, options)),
    )


def _inspect(
    traces: Iterable[Trace], encoder: TraceEncoder, options: XrayOptions
) -> tuple[list[_Inspected], list[int]]:
    """The examples, and the positions of traces that cannot be rendered: one must not hide the others."""
    positions: list[int] = []
    skipped: list[int] = []

    def renderable() -> Iterator[Trace]:
        for position, trace in enumerate(traces):
            try:
                render_completion(trace, encoder.markup)
            except DataError:
                skipped.append(position)
            else:
                positions.append(position)
                yield trace

    inspected: list[_Inspected] = []
    for number, example in enumerate(encoder.encode(renderable())):
        if options.loss_on == "all":
            example = replace(example, loss_mask=np.ones_like(example.loss_mask))
        elif options.loss_on == "prompt":
            example = replace(example, loss_mask=1 - example.loss_mask)
        inspected.append(_Inspected(positions[number], example, findings_of(example, options.row_length)))
    return inspected, skipped


def _rows(inspected: Sequence[_Inspected], options: XrayOptions) -> list[list[_Inspected]]:
    """The rows of an epoch: those of training when packed, else one example per row in dataset order."""
    if not options.packed or options.row_length is None:
        return [[item] for item in inspected]
    lengths = [min(len(item.example), options.row_length) for item in inspected]
    plan = plan_rows(lengths, row_length=options.row_length, packed=True, seed=options.seed)
    return [[inspected[i] for i in row] for row in plan.epoch(0)]


def _chosen(rows: Sequence[list[_Inspected]], options: XrayOptions) -> Sequence[list[_Inspected]]:
    if options.index is None:
        return rows[: options.max_rows]
    for number, row in enumerate(rows):
        if any(item.position == options.index for item in row):
            return rows[number : number + options.max_rows]
    raise NotFoundError(
        f"Example {options.index} is not among the inspected examples, or cannot be rendered.",
        next_step="Choose a smaller index, or read the findings without --index.",
    )


def _part_counts(inspected: Sequence[_Inspected], row_length: int | None) -> tuple[PartCount, ...]:
    counts = np.zeros(2 * len(PARTS), dtype=np.int64)
    for item in inspected:
        pairs = 2 * item.example.parts[:row_length] + item.example.loss_mask[:row_length]
        counts += np.bincount(pairs, minlength=2 * len(PARTS))
    return tuple(
        PartCount(part=part, num_masked=int(counts[2 * code]), num_trained=int(counts[2 * code + 1]))
        for code, part in enumerate(PARTS)
        if part != "padding"
    )


def _shown(row: Sequence[_Inspected], encoder: TraceEncoder, row_length: int | None) -> XrayRow:
    tokens: list[XrayToken] = []
    segments: list[XraySegment] = []
    for item in row:
        start = len(tokens)
        tokens += islice(_tokens(item.example), row_length)
        findings = tuple(sorted(item.findings))
        segments.append(XraySegment(example=item.position, start=start, end=len(tokens), findings=findings))
    pad_id = encoder.tokenizer.pad_id
    pad_text = encoder.tokenizer.fast.id_to_token(pad_id) or ""
    padding = XrayToken(id=pad_id, text=pad_text, state="padding", part="padding")
    num_padding = max((row_length or 0) - len(tokens), 0)
    return XrayRow(tokens=tuple(tokens + [padding] * num_padding), segments=tuple(segments))


def _tokens(example: EncodedExample) -> Iterator[XrayToken]:
    start = 0
    columns = (example.token_ids, example.loss_mask, example.parts, example.ends)
    for token_id, is_trained, code, end in zip(*(column.tolist() for column in columns), strict=True):
        yield XrayToken(
            id=token_id,
            text=example.text[start:end],
            state="trained" if is_trained else "masked",
            part=PARTS[code],
        )
        start = end


@dataclass(frozen=True)
class ModelChoice:
    """The tokenizer, the chat template and the markup."""

    model: str
    template: str | None = None
    """Name of a built-in template; None for the template of the tokenizer."""
    template_file: Path | None = None
    markup: MarkupStyle = DEFAULT_MARKUP
    is_remote: bool = False
    """Whether the names come over HTTP: then they cannot refer to local files or trigger downloads."""

    def encoder(self) -> TraceEncoder:
        """The encoder that training would use for this choice."""
        name = (
            self.model
            if self.is_remote or self.model in shipped_tokenizer_names()
            else absolute_if_directory(self.model)
        )
        tokenizer = load_tokenizer(name, allow_directories=not self.is_remote, online=not self.is_remote)
        if self.template_file is not None:
            template = template_from_file(tokenizer, self.template_file)
        else:
            template = choose_template(tokenizer, self.template)
        return TraceEncoder(tokenizer, template, self.markup)


def xray_dataset(
    datasets_dir: Path, key: str, choice: ModelChoice, options: XrayOptions, *, split: str | None = None
) -> XrayReport:
    """Inspect a stored dataset as training would see it, by default all of its splits.

    Raises:
        NotFoundError: no such dataset, split, model, template or example.
    """
    encoder = choice.encoder()
    return xray((row.trace() for row in iter_rows(datasets_dir, key, split)), encoder, options)
