"""`lint_trace`: all checks of a trace, and its score."""

import re
from math import prod

from tunix_rt.traces.linter.algebra import SolvedUnknowns
from tunix_rt.traces.linter.answers import (
    ContentWords,
    KnownNumbers,
    Support,
    answer_support,
    is_gibberish,
    last_result,
    unexplained_numbers,
    words_of,
)
from tunix_rt.traces.linter.claims import Claim, StepArithmetic, read_step
from tunix_rt.traces.linter.findings import Finding, LintReport
from tunix_rt.traces.linter.rationals import as_text, reduced
from tunix_rt.traces.types import Trace, TraceStep

_UNSAFE = re.compile(
    r"<(?![<\d(])"  # not the start of `<<48/2=24>>`
    r"(?:/?\s*(?:reasoning|answer|think|thinking|final_answer)\s*/?>"
    r"|\|[^|<>\s]{1,40}\|>|(?:start|end)_of_turn>|/?s>|(?:bos|eos|pad|unk)>)",
    re.IGNORECASE,
)
_LEAK = re.compile(
    r"(?:\b(?:answer|solution)\s*(?:is|was|=|:)\s*|####\s*|\\boxed\{\s*|<answer>\s*)[$€£]?\s*", re.IGNORECASE
)
_LEAK_MARKS = ("answer", "solution", "####", "boxed")


def leaked_answer(prompt: str, final_answer: str) -> tuple[int, int] | None:
    """The span in which the prompt gives the answer away; None when it does not.

    Example:
        prompt "… The answer is 72.", answer "72" -> the span of "72"
    """
    lowered = prompt.lower()
    if not any([mark in lowered for mark in _LEAK_MARKS]) or len(lowered) != len(prompt):
        return None
    answer = final_answer.strip().lower()
    for match in _LEAK.finditer(prompt):
        end = match.end() + len(answer)
        if lowered.startswith(answer, match.end()) and not lowered[end : end + 1].isalnum():
            return match.end(), end
    return None


_NOT_WORD = re.compile(r"[\W_]+")
_NUMBERING = re.compile(r"^\s*(?:step\s*)?\d{1,3}\s*[.):-]\s+", re.IGNORECASE)
_PLACEHOLDERS = frozenset(
    """na tbd todo none null reasoning thinking step solution answer placeholder ok done etc content
    text""".split()
)
_LABEL = re.compile(r"^(?:step|part)\d*$")
_OPEN_ENDS = frozenset("-+/×÷=([{,:;^\\&")
_OPEN_WORDS = frozenset(
    "and or the of is are was so because then to an with by plus minus times equals".split()
)
_VERIFIES = re.compile(
    r"^\W*(?:(?:step \d+|now|finally|next|then|so|we|i|let us|let me|let's|to|can|just|quickly)\W+)*"
    r"(?:(?:re-?|double[- ]?|sanity[- ])?check(?:ed|ing)?\b(?! out| in\b)|verif(?:y|ied|ying|ication)|"
    r"confirm(?:ed|ing)?\b)",
    re.IGNORECASE,
)
_VERIFICATION_TYPES = frozenset({"verification", "verify", "check"})
_EMPTY_PHRASES = frozenset(
    """verified verify verifying verification check checked checking double doublecheck recheck confirm
    confirmed confirming correct right good fine valid true yes ok okay matches match the this that is are was
    it looks look seems answer result solution final step steps all everything my our your we i have has been
    and so therefore calculation calculations calculated computation reasoning above again carefully done
    complete passed sound logic consistent indeed sure certain to be as expected work works value number
    problem sanity now finally let us me s can by of in with for a an no errors error mistakes mistake
    found""".split()
)
_WORD = re.compile(r"[^\W\d_]+")
_MIN_NEW_WORDS = 3
_MAX_LABEL_CHARS = 24
_MAX_WORD_CHARS = 20
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def is_empty(step: TraceStep) -> bool:
    """Whether a step has no content: punctuation, `N/A`, `Step 1:`."""
    content = step.content.strip()
    if len(content) > _MAX_LABEL_CHARS:
        return _LETTER_OR_DIGIT.search(content) is None
    text = _NOT_WORD.sub("", content).casefold()
    return not text or text in _PLACEHOLDERS or _LABEL.match(text) is not None


def repetition_key(text: str) -> str:
    """The text without numbering and case: equal keys mean that one step repeats the other."""
    if text[0] in "0123456789" or text[:4].lower() == "step":
        text = _NUMBERING.sub("", text)
    if text.isprintable() and "  " not in text:  # only single spaces
        return text.casefold().strip(" ").rstrip(".!")
    return " ".join(text.casefold().split()).rstrip(".!")


def cut_off_span(text: str) -> tuple[int, int] | None:
    """The last word of a text that stops in the middle of a sentence or formula; else None."""
    end = len(text.rstrip())
    last_word = text[max(end - _MAX_WORD_CHARS, 0) : end].split()[-1]
    is_open = (
        last_word[-1] in _OPEN_ENDS
        or last_word == "*"
        or last_word.lower() in _OPEN_WORDS
        or (last_word.endswith(("...", "…")) and not last_word[0].isdigit())
        or text.rfind("<<") > text.rfind(">>")
    )
    return (end - len(last_word), end) if is_open else None


def is_verification(step: TraceStep) -> bool:
    """Whether a step claims to check the steps before it."""
    if step.type.lower() in _VERIFICATION_TYPES:
        return True
    lowered = step.content.lower()
    if lowered.isascii() and "check" not in lowered and "verif" not in lowered and "confirm" not in lowered:
        return False  # most steps; the search below is slow
    return _VERIFIES.match(step.content) is not None


def checks_nothing(step: TraceStep, parsed: StepArithmetic, earlier: set[tuple[object, ...]]) -> bool:
    """Whether a verification step checks nothing; `earlier` holds the keys of the claims before it.

    A check is a calculation that no earlier step contains, or a few words that say what was compared.
    """
    if parsed.claims:
        return all(claim_key(claim) in earlier for claim in parsed.claims)
    words = [word for word in _WORD.findall(step.content.lower()) if word not in _EMPTY_PHRASES]
    return len(set(words)) < _MIN_NEW_WORDS


def claim_key(claim: Claim) -> tuple[object, ...]:
    """A key that is equal for the same calculation with its operands in any order."""
    operands = sorted(token.value for token in claim.operands)
    return (*operands, None if claim.result is None else reduced(claim.result))


UNCHECKABLE_ARITHMETIC = 0.7
"""A trace without a readable claim may be right, but nothing in it was confirmed."""
SUPPORT_FACTORS: dict[Support, float] = {
    "follows": 1.0,
    "stated": 0.9,
    "undecidable": 0.8,
    "mismatch": 0.4,
    "unsupported": 0.25,
}
SIZE_PER_LINK = 12
"""Of this many words and numbers, a step should share one with the prompt or its consequences."""
MAX_SIZE_WITHOUT_LINK = 25
UNLINKED_BUT_ANSWERED = 0.3


def link_strength(num_shared: int, size: int) -> float:
    """How well a step of `size` words and numbers is linked to the problem; long steps need more links."""
    return min(1.0, num_shared / max(1.0, size / SIZE_PER_LINK))


MAX_CHARS_READ = 200_000
"""Steps beyond this many characters of a trace are not checked; a finding reports it."""
MAX_FOUND_CHARS = 200
_EMPTY_CODES = frozenset({"reasoning-empty", "reasoning-gibberish", "step-repeated", "verification-empty"})


def lint_trace(trace: Trace) -> LintReport:
    """Report the defects of a trace and its score.

    Example:
        a step "48 / 2 = 25" -> arithmetic-wrong at that step, found "25", expected "24"
    """
    lint = _Lint(trace)
    for step in trace.steps:
        lint.check_step(step)
    lint.check_trace()
    components = {name: round(factor, 4) for name, factor in lint.components().items()}
    return LintReport(
        score=round(100 * prod(components.values()), 2), components=components, findings=tuple(lint.findings)
    )


class _Lint:
    """The state of one lint run over the steps of a trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.findings: list[Finding] = []
        self.parsed_steps: list[StepArithmetic] = []
        self.claims: list[Claim] = []
        self.strengths: list[float] = []
        self.keys: set[str] = set()
        self.unknowns = SolvedUnknowns()
        self.claim_keys: set[tuple[object, ...]] = set()
        self.num_claims_keyed = 0
        self.num_chars = 0
        self.size = 0
        """Words and numbers so far."""
        self.support: Support = "undecidable"
        prompt_words = words_of(trace.prompt)
        self.known = KnownNumbers(trace.prompt, prompt_words)
        self.anchors = set(self.known.values)
        self.words = ContentWords(prompt_words, words_of(trace.final_answer))

    def add(
        self,
        code: str,
        place: TraceStep | str,
        span: tuple[int, int] | None = None,
        expected: str | None = None,
    ) -> None:
        """Add a finding in a step, or in the text of the prompt or the answer; by default in all of it."""
        text, step = (place, None) if isinstance(place, str) else (place.content, place.i)
        span = span or (0, len(text))
        found = text[span[0] : span[1]][:MAX_FOUND_CHARS]
        self.findings.append(Finding(code=code, step=step, span=span, found=found, expected=expected))

    def check_step(self, step: TraceStep) -> None:
        text = step.content
        self._check_markup(step)
        key = repetition_key(text)
        if key in self.keys:
            self.add("step-repeated", step)
        self.keys.add(key)
        self.num_chars += len(text)
        if self.num_chars > MAX_CHARS_READ:
            self.add("too-long-to-check", step)
            return
        parsed = read_step(text)
        self._check_arithmetic(step, parsed)
        words = words_of(text)
        self._check_substance(step, parsed, words)
        self._check_grounding(step, parsed, words)
        self.parsed_steps.append(parsed)
        self.claims.extend(parsed.claims)

    def _check_markup(self, place: TraceStep | str) -> None:
        text = place if isinstance(place, str) else place.content
        if "<" in text:
            for match in _UNSAFE.finditer(text):
                self.add("markup-unsafe", place, match.span())

    def _check_arithmetic(self, step: TraceStep, parsed: StepArithmetic) -> None:
        for claim in parsed.claims:
            if claim.verdict == "wrong":
                self.add("arithmetic-wrong", step, claim.span, _expected_text(claim, step.content))
        for equation, earlier in self.unknowns.contradictions(step.content, parsed.equations):
            expected = None if earlier.root is None else f"{equation.unknown} = {as_text(earlier.root)}"
            self.add("arithmetic-wrong", step, equation.span, expected)

    def _check_substance(self, step: TraceStep, parsed: StepArithmetic, words: list[str]) -> None:
        if is_empty(step):
            self.add("reasoning-empty", step)
        elif is_gibberish(step.content, words):
            self.add("reasoning-gibberish", step)
        elif is_verification(step):
            # The keys of the claims so far, computed only for traces with a verification step.
            self.claim_keys.update(map(claim_key, self.claims[self.num_claims_keyed :]))
            self.num_claims_keyed = len(self.claims)
            if checks_nothing(step, parsed, self.claim_keys):
                self.add("verification-empty", step)

    def _check_grounding(self, step: TraceStep, parsed: StepArithmetic, words: list[str]) -> None:
        unexplained = unexplained_numbers(parsed, self.known)
        for token in unexplained:
            self.add("number-from-nowhere", step, (token.start, token.end))
        num_numbers = len(parsed.numbers)
        results = [
            reduced(claim.result) for claim in parsed.claims if claim.verdict == "confirmed" and claim.result
        ]
        if results:
            num_linked = num_numbers - len(unexplained)
            self.anchors.update(results)
        else:
            num_linked = sum([token.value in self.anchors for token in parsed.numbers])
        size = len(words) + num_numbers
        strength = link_strength(num_linked, size)
        if strength < 1:
            strength = link_strength(num_linked + self.words.num_shared(words), size)
        if strength >= 1:
            self.words.add(words)
        self.strengths.append(strength)
        self.size += size

    def check_trace(self) -> None:
        steps, answer = self.trace.steps, self.trace.final_answer
        cut_off = cut_off_span(steps[-1].content)
        if cut_off is not None:
            self.add("reasoning-truncated", steps[-1], cut_off)
        leak = leaked_answer(self.trace.prompt, answer)
        if leak is not None:
            self.add("answer-in-prompt", self.trace.prompt, leak)
        self._check_markup(answer)
        if len(self.parsed_steps) < len(steps):
            return
        contents = [step.content for step in steps]
        self.support = answer_support(self.trace.prompt, answer, contents, self.parsed_steps)
        if self.support in ("mismatch", "unsupported"):
            result = last_result(self.parsed_steps)
            self.add(f"answer-{self.support}", answer, expected=None if result is None else as_text(result))

    def components(self) -> dict[str, float]:
        codes = [finding.code for finding in self.findings]
        num_wrong = codes.count("arithmetic-wrong")
        if num_wrong:
            arithmetic = 0.5**num_wrong  # right claims do not compensate for a wrong one
        else:
            is_confirmed = any(claim.verdict == "confirmed" for claim in self.claims)
            arithmetic = 1.0 if is_confirmed else UNCHECKABLE_ARITHMETIC
        grounding = sum(self.strengths) / max(len(self.strengths), 1)
        size_per_step = self.size / max(len(self.parsed_steps), 1)
        if self.support in ("follows", "stated") and size_per_step <= MAX_SIZE_WITHOUT_LINK:
            # Short steps may share no word with the prompt (`o, l, l, e, h`) and hold the answer.
            grounding = max(grounding, UNLINKED_BUT_ANSWERED)
        num_steps = len(self.trace.steps)
        num_empty = len({finding.step for finding in self.findings if finding.code in _EMPTY_CODES})
        substance = (num_steps - num_empty) / num_steps
        # Markup and a leaked answer make a trace unsafe to train on.
        safety = 0.5 ** (("markup-unsafe" in codes) + ("answer-in-prompt" in codes))
        return {
            "arithmetic": arithmetic,
            "answer": SUPPORT_FACTORS[self.support],
            "grounding": grounding * max(0.5, 0.9 ** codes.count("number-from-nowhere")),
            "substance": substance * (0.8 if "reasoning-truncated" in codes else 1.0),
            "safety": safety,
        }


def _expected_text(claim: Claim, text: str) -> str | None:
    if claim.expected is None:
        return None
    if text[: claim.span[1]].endswith(("%", "percent")):
        return f"{as_text((claim.expected[0] * 100, claim.expected[1]))}%"
    return as_text(claim.expected)
