"""The model card (README.md) of a version."""

import json
from collections.abc import Sequence
from typing import Any

from tunix_rt.base.home import Home
from tunix_rt.base.hub import is_hub_id
from tunix_rt.models.store import evaluations_of
from tunix_rt.models.types import EvaluationSummary, ModelKind, ModelLineage, ModelVersion
from tunix_rt.traces.types import MarkupStyle

_LICENCE_NOTE = (
    "Tunix RT cannot know the licence of these weights: it depends on the base model and the training data. "
    "Replace `license: other` before you publish them."
)
_RANDOM_BASE_NOTE = (
    "Its base has random weights that a Tunix RT engine initialized. For other programs, merge the adapter:"
)
_MARKUP: dict[MarkupStyle, str] = {
    "reasoning": "`<reasoning>…</reasoning>` and then `<answer>…</answer>`",
    "counted": "numbered steps in `<reasoning>…</reasoning>` and then `<answer>…</answer>`",
    "think": "`<think>…</think>` and then the answer",
    "boxed": "the work and then `\\boxed{…}`",
    "hash": "the work and then `#### …`",
}


def model_card(
    version: ModelVersion,
    evaluations: Sequence[EvaluationSummary],
    *,
    kind: ModelKind | None = None,
    base_on_hub: str | None = None,
) -> str:
    """The card of a version.

    Args:
        version: what the card is about.
        evaluations: of these weights, newest first; the newest per eval set and protocol is shown.
        kind: kind of the files next to the card. None: as registered; an adapter may have been merged.
        base_on_hub: hub id of the base model, if it comes from the hub.
    """
    kind = kind or version.kind
    newest: dict[tuple[str, str], EvaluationSummary] = {}
    for evaluation in evaluations:
        if evaluation.primary_score is not None:
            newest.setdefault((evaluation.evalset, evaluation.fingerprint), evaluation)
    scored = list(newest.values())
    sections = (
        _header(version, kind, scored, base_on_hub),
        f"# {version.model}, version {version.version}",
        _summary(version, kind),
        f"## Scores\n\n{_scores(scored)}",
        f"## How it was trained\n\n{_training(version.lineage)}",
        f"## How to load it\n\n{_loading(version, kind, base_on_hub)}",
        f"## Licence\n\n{_LICENCE_NOTE}",
        *([f"## Notes\n\n{version.notes}"] if version.notes else []),
    )
    return "\n\n".join(sections) + "\n"


def _header(
    version: ModelVersion, kind: ModelKind, scored: Sequence[EvaluationSummary], base_on_hub: str | None
) -> str:
    is_adapter = kind == "adapter"
    tags = ["reasoning", "tunix-rt", *(["lora"] if is_adapter else [])]
    metadata: dict[str, Any] = {
        "library_name": "peft" if is_adapter else "transformers",
        "pipeline_tag": "text-generation",
        "license": "other",
        "tags": tags,
    }
    if base_on_hub is not None:
        metadata["base_model"] = base_on_hub
    if scored:
        metadata["model-index"] = [{"name": version.model, "results": [_result(one) for one in scored]}]
    # JSON is valid YAML, and no text can break out of its quotes.
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in metadata.items()]
    return "\n".join(["---", *lines, "---"])


def _result(evaluation: EvaluationSummary) -> dict[str, Any]:
    return {
        "task": {"type": "text-generation", "name": "reasoning"},
        "dataset": {"name": evaluation.evalset, "type": evaluation.evalset},
        "metrics": [
            {
                "type": "accuracy",
                "value": evaluation.primary_score,
                "name": f"accuracy ({_interval(evaluation)}, n = {evaluation.num_scored})",
                "verified": False,
            }
        ],
    }


def _interval(evaluation: EvaluationSummary) -> str:
    if evaluation.low is None or evaluation.high is None:
        return "no interval"
    return f"95 % {evaluation.low:.1%}–{evaluation.high:.1%}"


def _summary(version: ModelVersion, kind: ModelKind) -> str:
    what = "A LoRA adapter in the PEFT layout" if kind == "adapter" else "A model"
    if kind != version.kind:
        what = "A LoRA adapter, merged into its base,"
    return (
        f"{what} that writes its reasoning before the answer: {_MARKUP[version.markup]}.\n\n"
        f"- Registered as `{version.reference}` on {version.created_at:%Y-%m-%d}\n"
        f"- Content hash: `{version.content_hash}` (paths, sizes and SHA-256 of {version.num_files} files, "
        f"{version.size_bytes:,} bytes)"
    )


def _scores(scored: Sequence[EvaluationSummary]) -> str:
    if not scored:
        return "This version has not been evaluated."
    head = ("eval set", "accuracy", "95 % CI", "n", "unscored", "protocol", "date")
    rows = [
        (
            one.evalset,
            f"{one.primary_score:.1%}",
            _interval(one).removeprefix("95 % "),
            one.num_scored,
            one.num_unscored,
            f"`{one.fingerprint[:12]}`",
            f"{one.created_at:%Y-%m-%d}",
        )
        for one in scored
    ]
    lines = ("| " + " | ".join(map(_inline, line)) + " |" for line in (head, ["---"] * len(head), *rows))
    return "\n".join(lines) + "\n\nScores with different protocols are not comparable."


def _training(lineage: ModelLineage) -> str:
    figures, base, code = lineage.figures, None, None
    if lineage.base is not None:
        base, revision = lineage.base.name, lineage.base.revision
        base += "" if revision is None else f" at {revision}"
        if lineage.base.weights == "random":
            how = f"seed {lineage.base.seed}, initialized by the {lineage.base.drawn_by} engine"
            base = f"{lineage.base.name}, from random weights ({how})"
    if lineage.tunix_rt_version is not None:
        dirty = " with uncommitted changes" if lineage.is_dirty else ""
        commit = "" if lineage.commit is None else f", commit {lineage.commit[:12]}{dirty}"
        code = f"tunix-rt {lineage.tunix_rt_version}{commit}"
    facts: dict[str, object | None] = {
        "Base model": base,
        "Registered parent": lineage.parent,
        "Dataset": None if lineage.dataset is None else f"{lineage.dataset} (`{lineage.dataset_hash}`)",
        "Run": lineage.run_id,
        "Recipe": lineage.recipe,
        "Mode": lineage.mode,
        "Step": lineage.step,
        "Final loss": None if figures is None else figures.final_loss,
        "Validation loss": None if figures is None else figures.validation_loss,
        "Engine": lineage.engine,
        "Code": code,
        "Finished": None if lineage.trained_at is None else f"{lineage.trained_at:%Y-%m-%d}",
    }
    known = [f"- {name}: {_inline(value)}" for name, value in facts.items() if value is not None]
    return "\n".join(known) or "Unknown: it was registered from a directory."


def _loading(version: ModelVersion, kind: ModelKind, base_on_hub: str | None) -> str:
    with_tunix = f"With Tunix RT:\n\n```console\ntunix-rt chat {version.reference}\n```"
    if kind == "model":
        lines = [
            "from transformers import AutoModelForCausalLM, AutoTokenizer",
            'model = AutoModelForCausalLM.from_pretrained("DIRECTORY", dtype="auto")',
            'tokenizer = AutoTokenizer.from_pretrained("DIRECTORY")',
        ]
        return f"{_python('transformers', lines)}\n\n{with_tunix}"
    if version.lineage.base is not None and version.lineage.base.weights == "random":
        command = f"`tunix-rt models export {version.reference} --as merged --output DIR`"
        return f"{with_tunix}\n\n{_RANDOM_BASE_NOTE} {command}."
    base = base_on_hub or "BASE"
    lines = [
        "from peft import PeftModel",
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        f'base = AutoModelForCausalLM.from_pretrained("{base}", dtype="auto")',
        'model = PeftModel.from_pretrained(base, "DIRECTORY")',
        'tokenizer = AutoTokenizer.from_pretrained("DIRECTORY")',
    ]
    return f"{_python('PEFT', lines)}\n\n{with_tunix}"


def _python(library: str, lines: Sequence[str]) -> str:
    code = "\n".join(lines)
    return f"With {library}:\n\n```python\n{code}\n```"


def _inline(value: object) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


def card_of(home: Home, version: ModelVersion, *, kind: ModelKind | None = None) -> str:
    """The card of a version with Hugging Face metadata, for files of this kind."""
    base = version.lineage.base
    base_on_hub = base.name if base is not None and is_hub_id(base.name) else None
    evaluations = evaluations_of(home.database, version)
    return model_card(version, evaluations, kind=kind, base_on_hub=base_on_hub)
