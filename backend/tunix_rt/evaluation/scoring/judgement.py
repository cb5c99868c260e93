"""Judge completions: extract the answer, check it, check the steps."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from itertools import islice

from tunix_rt.base.errors import DataError
from tunix_rt.base.host import Mapper
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.checkers.check import CHECKER_VERSIONS, check, checker_of
from tunix_rt.evaluation.scoring.checkers.text import Checked
from tunix_rt.evaluation.scoring.extraction import EXTRACTOR_VERSION, Extracted, extract
from tunix_rt.evaluation.types import CheckedStep, Generation, Judgement, Prediction, Protocol, StepVerdict
from tunix_rt.traces.linter.claims import read_step
from tunix_rt.traces.linter.findings import LINTER_VERSION

MAX_CHARS_READ = 200_000
"""Steps beyond this many characters of a completion are not checked."""


def checked_steps(steps: Iterable[str]) -> tuple[CheckedStep, ...]:
    """Every step with its verdict.

    Example:
        "48 / 2 = 25" -> broken; "48 / 2 = 24" -> confirmed; "Half of it is left." -> unchecked
    """
    checked = []
    num_chars = 0
    for step in steps:
        num_chars += len(step)
        claims = read_step(step).claims if num_chars <= MAX_CHARS_READ else ()
        verdicts = {claim.verdict for claim in claims}
        verdict: StepVerdict = "unchecked"
        if "wrong" in verdicts:
            verdict = "broken"
        elif "confirmed" in verdicts:
            verdict = "confirmed"
        checked.append(CheckedStep(text=step, verdict=verdict))
    return tuple(checked)


MAX_ANSWERS_GIVEN = 5
"""More different answers than this are wrong without being checked."""
CHUNK_SIZE = 250
"""Completions per chunk for a worker: large enough to make the transfer cheap."""


def judge(item: EvalItem, generation: Generation, protocol: Protocol) -> Prediction:
    r"""Judge one completion.

    Example:
        expected "42", text "<reasoning>\n6*7=42\n</reasoning>\n<answer>42</answer>" -> correct
    """
    return Prediction(
        item_id=item.id,
        sample=generation.sample,
        prompt=item.prompt,
        expected_answer=item.expected_answer,
        section=item.section,
        category=item.category,
        difficulty=item.difficulty,
        generation=generation,
        judgement=_judgement(item, generation, protocol),
    )


def judge_all(
    items: Sequence[EvalItem], generations: Iterable[Generation], protocol: Protocol, mapper: Mapper
) -> Iterator[Prediction]:
    """The predictions in the order of the items, then of the samples, whatever order the generations have.

    Raises:
        DataError: A generation belongs to no item.
    """
    by_item: dict[str, list[Generation]] = defaultdict(list)
    for generation in generations:
        by_item[generation.item_id].append(generation)
    unknown = by_item.keys() - {item.id for item in items}
    if unknown:
        raise DataError(
            f"{len(unknown)} texts belong to items that are not in the eval set, e.g. {min(unknown)!r}.",
            next_step="Score them with the eval set that they were written for.",
        )
    pairs = (
        (item, generation)
        for item in items
        for generation in sorted(by_item[item.id], key=lambda one: one.sample)
    )
    chunks = iter(lambda: list(islice(pairs, CHUNK_SIZE)), [])
    for predictions in mapper(partial(_judge_chunk, protocol), chunks):
        yield from predictions


def protocol_versions(items: Iterable[EvalItem]) -> dict[str, str]:
    """The versions of everything that decides the verdicts on these items.

    Example:
        items with numbers only -> {"checker-number": "2", "extractor": "1", "linter": "1.0"}
    """
    names = {checker_of(item) for item in items}
    versions = {f"checker-{name}": CHECKER_VERSIONS[name] for name in names}
    if "math" in names:
        versions["math-verify"] = version("math-verify")
    if "task" in names:
        versions["reasoning-gym"] = version("reasoning-gym")
    return dict(sorted((versions | {"extractor": EXTRACTOR_VERSION, "linter": LINTER_VERSION}).items()))


def _judgement(item: EvalItem, generation: Generation, protocol: Protocol) -> Judgement:
    if generation.text is None:
        assert generation.failure is not None  # the generation's own validator
        explanation = f"{generation.failure.code}: {generation.failure.detail}"
        return Judgement(verdict="unscored", is_well_formed=False, explanation=explanation)
    extracted = extract(generation.text, protocol.markup, protocol.extraction)
    steps = checked_steps(extracted.steps)
    if extracted.answer is None:
        return Judgement(
            verdict="no-answer",
            is_well_formed=extracted.is_well_formed,
            steps=steps,
            explanation="no rule found an answer",
        )
    checked = _check(item, extracted, protocol.max_answer_chars)
    return Judgement(
        verdict="unscored" if checked.is_right is None else "correct" if checked.is_right else "wrong",
        is_well_formed=extracted.is_well_formed,
        steps=steps,
        answer=extracted.answer[: protocol.max_answer_chars],
        rule=extracted.rule,
        is_lenient=extracted.is_lenient,
        checker=checked.checker,
        explanation=checked.explanation,
        canonical=checked.canonical,
    )


def _check(item: EvalItem, extracted: Extracted, max_chars: int) -> Checked:
    """All given answers must be correct, so listing several answers does not help."""
    if sum(map(len, extracted.given)) > max_chars:
        return Checked(False, checker_of(item), f"the answer is longer than {max_chars} characters", None)
    explanation = f"{len(extracted.given)} different answers were given"
    if len(extracted.given) > MAX_ANSWERS_GIVEN:
        return Checked(False, checker_of(item), explanation, None)
    checks = [check(item, answer) for answer in extracted.given]
    undecided = [one for one in checks if one.is_right is None]
    if len(checks) == 1 or undecided or all(one.is_right for one in checks):
        return (undecided or checks)[0]
    return Checked(False, checker_of(item), explanation, None)


def _judge_chunk(protocol: Protocol, pairs: list[tuple[EvalItem, Generation]]) -> list[Prediction]:
    return [judge(item, generation, protocol) for item, generation in pairs]
