"""Reads what the steps of a trace say, and reports what is wrong with it."""

from math import prod

from tunix_rt.core.linting import scoring
from tunix_rt.core.linting.answers import Support, answer_support, last_result
from tunix_rt.core.linting.claims import Claim, StepReading, read_step
from tunix_rt.core.linting.equations import Equation, contradicts
from tunix_rt.core.linting.findings import Finding, LintReport
from tunix_rt.core.linting.grounding import KnownNumbers, unexplained_numbers
from tunix_rt.core.linting.markup import leaked_answer, unsafe_tags
from tunix_rt.core.linting.prose import (
    claim_key,
    cut_off_span,
    is_empty,
    repetition_key,
    says_it_verifies,
    verifies_nothing,
)
from tunix_rt.core.linting.ratios import as_text, reduced
from tunix_rt.core.linting.words import ContentWords, is_gibberish, words_of
from tunix_rt.core.trace import Trace, TraceStep

MAX_CHARS_READ = 200_000
"""Steps beyond this many characters of a trace are not read; a finding says so."""
MAX_FOUND_CHARS = 200
_HOLLOW = frozenset({"reasoning-empty", "reasoning-gibberish", "step-repeated", "verification-empty"})


def lint_trace(trace: Trace) -> LintReport:
    """The defects of a trace, and its score.

    Example:
        a step "48 / 2 = 25" -> arithmetic-wrong at that step, found "25", expected "24"
    """
    lint = _Lint(trace)
    for step in trace.steps:
        lint.check_step(step)
    lint.check_whole()
    components = {name: round(factor, 4) for name, factor in lint.components().items()}
    return LintReport(
        score=round(100 * prod(components.values()), 2), components=components, findings=tuple(lint.findings)
    )


class _Lint:
    """What is known after the steps that were read so far."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.findings: list[Finding] = []
        self.readings: list[StepReading] = []
        self.claims: list[Claim] = []
        self.strengths: list[float] = []
        self.keys: set[str] = set()
        self.equations: dict[str, Equation] = {}
        """The first equation for each unknown: later ones must agree with it."""
        self.made: set[tuple[object, ...]] = set()
        self.num_keyed = 0
        self.num_chars = 0
        self.size = 0
        """Words and numbers read so far."""
        self.support: Support = "undecidable"
        prompt_words = words_of(trace.prompt)
        self.known = KnownNumbers(trace.prompt, prompt_words)
        self.anchors = set(self.known.values)
        self.words = ContentWords(prompt_words, words_of(trace.final_answer))

    def add(
        self, code: str, step: TraceStep | None, text: str, span: tuple[int, int], expected: str | None
    ) -> None:
        found = text[span[0] : span[1]][:MAX_FOUND_CHARS]
        self.findings.append(
            Finding(
                code=code, step=None if step is None else step.i, span=span, found=found, expected=expected
            )
        )

    def check_step(self, step: TraceStep) -> None:
        text = step.content
        self._check_markup(step, text)
        self._check_repetition(step)
        self.num_chars += len(text)
        if self.num_chars > MAX_CHARS_READ:
            self.add("too-long-to-check", step, text, (0, len(text)), None)
            return
        reading = read_step(text)
        self._check_arithmetic(step, reading)
        words = words_of(text)
        self._check_substance(step, reading, words)
        self._check_grounding(step, reading, words)
        self.readings.append(reading)
        self.claims.extend(reading.claims)

    def _check_markup(self, step: TraceStep | None, text: str) -> None:
        for span in unsafe_tags(text):
            self.add("markup-unsafe", step, text, span, None)

    def _check_repetition(self, step: TraceStep) -> None:
        key = repetition_key(step.content)
        if key in self.keys:
            self.add("step-repeated", step, step.content, (0, len(step.content)), None)
        self.keys.add(key)

    def _check_arithmetic(self, step: TraceStep, reading: StepReading) -> None:
        text = step.content
        for claim in reading.claims:
            if claim.verdict == "wrong":
                self.add("arithmetic-wrong", step, text, claim.span, _expected_text(claim, text))
        for equation in reading.equations:
            earlier = self.equations.setdefault(equation.unknown, equation)
            if contradicts(equation, earlier):
                expected = f"{equation.unknown} = {as_text(earlier.root)}"
                self.add("arithmetic-wrong", step, text, equation.span, expected)

    def _check_substance(self, step: TraceStep, reading: StepReading, words: list[str]) -> None:
        whole = (0, len(step.content))
        if is_empty(step):
            self.add("reasoning-empty", step, step.content, whole, None)
        elif is_gibberish(step.content, words):
            self.add("reasoning-gibberish", step, step.content, whole, None)
        elif says_it_verifies(step) and verifies_nothing(step, reading, self._claims_made()):
            self.add("verification-empty", step, step.content, whole, None)

    def _claims_made(self) -> set[tuple[object, ...]]:
        """The keys of all claims so far; computed only for traces that have a verification step."""
        self.made.update(map(claim_key, self.claims[self.num_keyed :]))
        self.num_keyed = len(self.claims)
        return self.made

    def _check_grounding(self, step: TraceStep, reading: StepReading, words: list[str]) -> None:
        unexplained = unexplained_numbers(reading, self.known)
        for token in unexplained:
            self.add("number-from-nowhere", step, step.content, (token.start, token.end), None)
        num_numbers = len(reading.numbers)
        results = [
            reduced(claim.result) for claim in reading.claims if claim.verdict == "confirmed" and claim.result
        ]
        if results:
            num_linked = num_numbers - len(unexplained)
            self.anchors.update(results)
        else:
            num_linked = sum([token.value in self.anchors for token in reading.numbers])
        size = len(words) + num_numbers
        strength = scoring.link_strength(num_linked, size)
        if strength < 1:
            strength = scoring.link_strength(num_linked + self.words.num_shared(words), size)
        if strength >= 1:
            self.words.add(words)
        self.strengths.append(strength)
        self.size += size

    def check_whole(self) -> None:
        trace = self.trace
        last = trace.steps[-1]
        cut_off = cut_off_span(last.content)
        if cut_off is not None:
            self.add("reasoning-truncated", last, last.content, cut_off, None)
        leak = leaked_answer(trace.prompt, trace.final_answer)
        if leak is not None:
            self.add("answer-in-prompt", None, trace.prompt, leak, None)
        self._check_markup(None, trace.final_answer)
        self._check_answer()

    def _check_answer(self) -> None:
        answer = self.trace.final_answer
        if len(self.readings) < len(self.trace.steps):
            return
        self.support = answer_support(answer, [step.content for step in self.trace.steps], self.readings)
        if self.support in ("mismatch", "unsupported"):
            result = last_result(self.readings)
            expected = None if result is None else as_text(result)
            self.add(f"answer-{self.support}", None, answer, (0, len(answer)), expected)

    def components(self) -> dict[str, float]:
        codes = [finding.code for finding in self.findings]
        hollow_steps = {finding.step for finding in self.findings if finding.code in _HOLLOW}
        num_confirmed = [claim.verdict for claim in self.claims].count("confirmed")
        num_read = max(len(self.readings), 1)
        return {
            "arithmetic": scoring.arithmetic_factor(num_confirmed, codes.count("arithmetic-wrong")),
            "answer": scoring.SUPPORT_FACTORS[self.support],
            "grounding": scoring.grounding_factor(
                self.strengths or [0.0],
                self.size / num_read,
                self.support,
                codes.count("number-from-nowhere"),
            ),
            "substance": scoring.substance_factor(
                len(self.trace.steps), len(hollow_steps), is_truncated="reasoning-truncated" in codes
            ),
            "safety": scoring.safety_factor(
                has_unsafe_markup="markup-unsafe" in codes, leaks_answer="answer-in-prompt" in codes
            ),
        }


def _expected_text(claim: Claim, text: str) -> str | None:
    if claim.expected is None:
        return None
    if text[: claim.span[1]].endswith(("%", "percent")):
        return f"{as_text((claim.expected[0] * 100, claim.expected[1]))}%"
    return as_text(claim.expected)
