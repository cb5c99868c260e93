"""Whether the answer follows from the steps, and where its numbers come from."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import eq
from typing import Literal, NamedTuple

from tunix_rt.traces.linter.claims import StepArithmetic, is_plain_number, read_step
from tunix_rt.traces.linter.rationals import Ratio, agrees, apply, reduced
from tunix_rt.traces.linter.scanner import plain_text, tokenise
from tunix_rt.traces.linter.vocabulary import FRACTION_WORDS, MULTIPLE_WORDS, NUMBER_WORDS, Token, read_number

COUNTABLE = 12
"""Integers up to this one need no source: the reader can count names in a list or sides of a box."""
_COMMON_KNOWLEDGE = frozenset(
    {
        (n, 1)
        for n in (14, 15, 16, 18, 20, 24, 25, 28, 30, 31, 36, 48, 50, 52, 60, 90, 100, 180, 360, 365, 366)
    }
    | {(n, 1) for n in (1000, 1440, 1760, 2000, 3600, 5280, 10_000, 1_000_000)}
    | {(157, 50), (3927, 1250), (22, 7), (981, 100), (49, 5)}
    | {(1, n) for n in (2, 3, 4, 5, 8, 10, 20, 100)}
)
"""Units of time, length, money and percentage, and their usual fractions; pi and gravity."""
_QUANTITIES = NUMBER_WORDS | MULTIPLE_WORDS | FRACTION_WORDS
# It starts with a character class, so that the search skips all other characters at once.
_NUMBER = re.compile(
    r"([\d.](?:(?<=\.)\d{1,40}|(?<=\d)(?:\d{0,2}(?:,\d{3})+(?!\d)|\d{0,39})(?:\.\d{1,40})?))(?:/(\d{1,40}))?"
)
_WHOLE_BEFORE = re.compile(r"(?<!\d)(\d{1,6}) (?:and )?$")
_MAX_PAIRS = 40
MAX_UNEXPLAINED = 50
"""After this many in one trace, further numbers are not checked: the verdict is clear."""


class KnownNumbers:
    """The numbers that a step may use without deriving them."""

    def __init__(self, prompt: str, prompt_words: Iterable[str]) -> None:
        self.values: dict[Ratio, None] = dict.fromkeys(written_numbers(prompt))
        self.num_unexplained = 0
        # Sorted: the order of a set differs from one process to the next, and the latest numbers count more.
        for word in sorted(_QUANTITIES.keys() & set(prompt_words)):
            self.values[reduced(_QUANTITIES[word])] = None

    def explains(self, token: Token) -> bool:
        """Whether a number was given, is common knowledge, or is one operation away from known ones."""
        value = token.value
        if value in self.values or value in _COMMON_KNOWLEDGE or (value[1] == 1 and value[0] <= COUNTABLE):
            return True
        if any(other in self.values for other in _other_forms(value)):
            return True
        # Mental arithmetic: `48 - 20` may be written as 28 without showing it.
        for known in islice(reversed(self.values), _MAX_PAIRS):
            others = (apply("-", value, known), apply("+", value, known), apply("/", value, known))
            product = apply("*", value, known)
            if any(other is not None and reduced(other) in self.values for other in (*others, product)):
                return True
            if value[0] and known[0] and reduced((known[0] * value[1], known[1] * value[0])) in self.values:
                return True
        return False


def written_numbers(text: str) -> Iterator[Ratio]:
    """The numbers of a text by a cheap scan: digits, fractions and mixed numbers (`3/4`, `1 1/2`)."""
    for match in _NUMBER.finditer(text):
        value = read_number(match[1])[0]
        yield value
        if match[2] and match[2].strip("0"):
            share = reduced((value[0], value[1] * int(match[2])))
            yield share
            whole = _WHOLE_BEFORE.search(text, max(match.start() - 8, 0), match.start())
            if whole:
                yield reduced((int(whole[1]) * share[1] + share[0], share[1]))


def _other_forms(value: Ratio) -> Iterable[Ratio]:
    """20 % may be written as 0.2, 0.8 (the rest) or 1.2 (the increase), and dollars as cents."""
    numerator, denominator = value
    yield reduced((numerator * 100, denominator))
    yield reduced((numerator, denominator * 100))
    yield reduced((100 * denominator - numerator, denominator))
    yield reduced((100 * (denominator - numerator), denominator))
    yield reduced((100 * (numerator - denominator), denominator))
    if numerator > 0:
        yield denominator, numerator


def unexplained_numbers(parsed: StepArithmetic, known: KnownNumbers) -> list[Token]:
    """The numbers of a step that nothing explains; adds all numbers of the step to `known`.

    Results of the step's own claims count as explained.
    """
    computed = {reduced(claim.result): None for claim in parsed.claims if claim.result is not None}
    unexplained = []
    values = known.values
    for token in parsed.numbers:
        value = token.value
        if value not in values:
            must_explain = known.num_unexplained < MAX_UNEXPLAINED and value not in computed
            if must_explain and not known.explains(token):
                unexplained.append(token)
                known.num_unexplained += 1
            values[value] = None
    values.update(computed)
    return unexplained


_WORD = re.compile(r"[^\W\d_]{3,}")
_ASCII_WORD = re.compile(r"[a-z]{3,}")
"""Matches the same words of a lower-case ASCII text in half the time."""
_STEM_CHARS = 5
MIN_LETTERS_TO_JUDGE = 40
MIN_WORDS_TO_JUDGE = 20
_LONG_OR_UNPRONOUNCEABLE = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}|[a-z]{26,}")
MIN_VOWEL_SHARE = 0.27
COMMON_VOWEL_SHARE = 0.33
"""English and related languages have 35 to 45 % vowels; random letters have 23 % (with y)."""

_COMMON_WORDS = frozenset(
    """the and that this with for are was were has have had will would can could should from they them
    their there then than these those which what when where who how many much more most some any all each
    every other another into onto over under about after before because since also only just very not but
    you your our his her its she him one two three four five six seven eight nine ten get gets got make
    makes made take takes took give gives gave use used using now out off per let need needs says said
    being been does did find first second next last total number answer step therefore thus hence""".split()
)


def words_of(text: str) -> list[str]:
    """The words of three letters or more, in lower case."""
    lowered = text.lower()
    return (_ASCII_WORD if lowered.isascii() else _WORD).findall(lowered)


def content_words(words: Iterable[str]) -> set[str]:
    """The stems of the words that carry meaning.

    Example:
        the words of "The clips that Natalia sold" -> {"clips", "natal", "sold"}
    """
    return {word[:_STEM_CHARS] for word in words if word not in _COMMON_WORDS}


class ContentWords:
    """The content words of several texts, with stems computed on first use."""

    def __init__(self, *texts_words: Sequence[str]) -> None:
        self._pending = list(texts_words)
        self._stems: set[str] = set()

    def add(self, words: Sequence[str]) -> None:
        """Add the words of another text."""
        self._pending.append(words)

    def num_shared(self, words: Sequence[str]) -> int:
        """How many content words of another text they include."""
        for pending in self._pending:
            self._stems |= content_words(pending)
        self._pending.clear()
        return len(content_words(words) & self._stems)


def is_gibberish(text: str, words: Sequence[str]) -> bool:
    """Whether a text is not language: one repeated character, the same few words, or random letters.

    Example:
        "aaaa…" and "xkcd qwrt zzpf …" -> True; "Dog, cat and bird: three animals." -> False
    """
    if len(text) < MIN_LETTERS_TO_JUDGE:
        return False
    distinct = set(words)
    if len(words) >= MIN_WORDS_TO_JUDGE and len(distinct) < len(words) / 5:
        return True
    if _is_random_letters(distinct):
        return True
    # A run of one character that is longer than half of the text covers the middle.
    middle = len(text) // 2
    outside_run = text[:middle].rstrip(text[middle]) + text[middle:].lstrip(text[middle])
    return 2 * len(outside_run) < len(text)


def _is_random_letters(words: set[str]) -> bool:
    letters = "".join(words)
    if len(letters) < MIN_LETTERS_TO_JUDGE or not letters.isascii():
        return False
    vowel_share = sum(map(letters.count, "aeiouy")) / len(letters)
    if vowel_share > COMMON_VOWEL_SHARE:
        return False
    num_odd = sum(_LONG_OR_UNPRONOUNCEABLE.search(word) is not None for word in words)
    return vowel_share < MIN_VOWEL_SHARE or num_odd * 3 > len(words)


Support = Literal["follows", "stated", "undecidable", "mismatch", "unsupported"]
"""The answer `follows` from the last claims, is `stated` in the steps, is `undecidable` (yes, B), is a
`mismatch` with the last claims, or is `unsupported`: it occurs in no step."""

_VERDICTS = frozenset({"yes", "no", "true", "false", "none", "both", "neither", "possible", "impossible"})
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_MAX_CHARS = 2_000
_MAX_NUMBERS = 20
NUM_LAST_STEPS = 2


def answer_support(
    prompt: str, final_answer: str, contents: Sequence[str], parsed_steps: Sequence[StepArithmetic]
) -> Support:
    r"""Whether the final answer follows from the steps.

    A sentence that only states the answer (`The answer is 25.`, `\boxed{25}`) is no support for it.

    Example:
        answer "24", last step "48 / 2 = 24" -> "follows"; last step "48 / 2 = 25" -> "unsupported"
    """
    answer = plain_text(final_answer[:_MAX_CHARS])
    numbers = [token for token in tokenise(answer) if is_plain_number(token)][:_MAX_NUMBERS]
    if not numbers:
        return _text_support(final_answer, contents)
    words = content_words(words_of(answer))
    support = _support(words, numbers, final_answer, contents, parsed_steps)
    is_computed = any(claim.result for parsed in parsed_steps for claim in parsed.claims) or any(
        equation.root and not equation.is_assignment
        for parsed in parsed_steps
        for equation in parsed.equations
    )
    if support in ("mismatch", "unsupported") or not is_computed:
        return support
    derived = list(_without_statements(numbers, contents, parsed_steps))
    if words:
        return _sentence_support(prompt, answer, numbers, derived, support)
    texts, parsed = [text for text, _ in derived], [step for _, step in derived]
    if len(texts) == len(contents) and all(map(eq, texts, contents)):
        return support
    again = _number_or_written_support(numbers, texts, parsed)
    return "mismatch" if again in ("mismatch", "unsupported") else support


def _support(
    words: set[str],
    numbers: Sequence[Token],
    final_answer: str,
    contents: Sequence[str],
    parsed_steps: Sequence[StepArithmetic],
) -> Support:
    if words and words - _content(*contents[-NUM_LAST_STEPS:]):
        support = _text_support(final_answer, contents)
        if support != "unsupported":
            return support
        # "24 dollars" after steps that write $24.
        support = _number_or_written_support(numbers, contents, parsed_steps)
        return "stated" if support in ("follows", "stated") else "unsupported"
    return _number_or_written_support(numbers, contents, parsed_steps)


def _number_or_written_support(
    numbers: Sequence[Token], contents: Sequence[str], parsed_steps: Sequence[StepArithmetic]
) -> Support:
    support = _number_support(numbers, parsed_steps)
    if support == "unsupported":
        # The last steps may contain the digits in a form that is not arithmetic: `15:25`, `[1, 2]`.
        written = {value for content in contents[-NUM_LAST_STEPS:] for value in written_numbers(content)}
        if all(token.value in written for token in numbers):
            return "stated"
    return support


_STATEMENT = re.compile(
    r"\\boxed\b|####|\banswer\b[^.\n\d]{0,60}?(?:\bis\b|\bare\b|[:=])",
    re.IGNORECASE,
)
_STATEMENT_MARKS = ("boxed", "####", "answer")
_CLAUSE_END = re.compile(r"[.!?](?=\s|$)|\n|$")
_SENTENCE_END = re.compile(r"[.!?:;](?=\s)|\n")
_MAX_HEADING_CHARS = 40


class _Statement(NamedTuple):
    """A span of a step that only states the answer."""

    start: int
    end: int
    is_named: bool
    """Whether it says "the answer is", unlike `x = \\boxed{36}`."""


def _without_statements(
    numbers: Sequence[Token], contents: Sequence[str], parsed_steps: Sequence[StepArithmetic]
) -> Iterator[tuple[str, StepArithmetic]]:
    """The steps without what they state as the answer; steps with nothing else are left out."""
    values = [token.value for token in numbers]
    for content, parsed in zip(contents, parsed_steps, strict=True):
        lowered = content.lower()
        if not any([mark in lowered for mark in _STATEMENT_MARKS]):
            yield content, parsed
            continue
        statements = list(_statements(content, parsed, values))
        for start, end, _ in statements:
            content = content[:start] + " " * (end - start) + content[end:]
        stated = [*(token for token in parsed.numbers if _is_within(token.start, statements))]
        named = [statement for statement in statements if statement.is_named]
        parsed = parsed._replace(
            numbers=tuple([token for token in parsed.numbers if token not in stated]),
            equations=tuple([one for one in parsed.equations if not _is_within(one.span[0], named)]),
        )
        is_heading = not statements and len(content) <= _MAX_HEADING_CHARS  # "**Final answer**"
        if parsed.numbers or parsed.claims or parsed.equations or not (statements or is_heading):
            yield content, parsed


def _is_within(position: int, statements: Sequence[_Statement]) -> bool:
    return any(statement.start <= position < statement.end for statement in statements)


def _statements(content: str, parsed: StepArithmetic, answer: Sequence[Ratio]) -> Iterator[_Statement]:
    r"""Where a step states the answer: `\boxed{72}`, `the answer is 72`, or the whole sentence.

    A sentence with other numbers may derive the answer; then only what follows "the answer is" is left out.
    """
    start = end = 0
    for match in _STATEMENT.finditer(content):
        if match.start() < end:
            continue
        for sentence_end in _SENTENCE_END.finditer(content, start, match.start()):
            start = sentence_end.end()
        clause_end = _CLAUSE_END.search(content, match.end())
        end = clause_end.start() if clause_end else len(content)
        # A calculation before it needs no full stop: "48 + 24 = 72 so the answer is 72".
        before = [claim.span[1] for claim in parsed.claims if claim.span[1] <= match.start()]
        others = [token for token in parsed.numbers if max([start, *before]) <= token.start < end]
        is_named = not match[0].startswith("\\")
        if all([token.value in answer for token in others]):
            yield _Statement(max([start, *before]), end, is_named)
        elif is_named:
            yield _Statement(match.start(), end, is_named)


def _sentence_support(
    prompt: str,
    answer: str,
    numbers: Sequence[Token],
    derived: Sequence[tuple[str, StepArithmetic]],
    support: Support,
) -> Support:
    """Whether the numbers that an answer in words adds to the prompt come from the steps.

    Example:
        "She sold 72 clips in 2 months." -> its 72 must be a result or a number of the steps
    """
    if _squeezed(answer) in _squeezed("".join([text for text, _ in derived])):
        return support
    parsed_steps = [parsed for _, parsed in derived]
    given = set(written_numbers(prompt))
    own = read_step(answer).claims
    computed = {token.start for claim in own for token in claim.operands} | {claim.span[0] for claim in own}
    added = [token for token in numbers if token.value not in given and token.start not in computed]
    large = [token for token in added if token.value[1] > 1 or token.value[0] > COUNTABLE]
    candidates = large or added
    if not candidates:
        return support
    anywhere = [token.value for parsed in parsed_steps for token in parsed.numbers]
    anywhere += _results(parsed_steps)
    if not all(_is_among(token, anywhere) for token in candidates):
        return "mismatch"
    follows = [_number_support([token], parsed_steps) for token in candidates]
    return support if any(one in ("follows", "stated") for one in follows) else "mismatch"


def _results(parsed_steps: Sequence[StepArithmetic]) -> list[Ratio]:
    """The results of the claims and the solutions of the equations, without signs."""
    results = [claim.result for parsed in parsed_steps for claim in parsed.claims if claim.result]
    results += [equation.root for parsed in parsed_steps for equation in parsed.equations if equation.root]
    return results + [(-value[0], value[1]) for value in results if value[0] < 0]


def last_result(parsed_steps: Sequence[StepArithmetic]) -> Ratio | None:
    """The result of the last readable claim."""
    claims = (claim for parsed in reversed(parsed_steps) for claim in reversed(parsed.claims))
    return next((claim.result for claim in claims if claim.result and claim.verdict != "unreadable"), None)


def _content(*texts: str) -> set[str]:
    return set().union(*(content_words(words_of(text)) for text in texts))


def _number_support(numbers: Sequence[Token], parsed_steps: Sequence[StepArithmetic]) -> Support:
    last = parsed_steps[-NUM_LAST_STEPS:]
    results = _results(last)
    if all([token.value in results or _is_among(token, results) for token in numbers]):
        return "follows"
    in_last = [token.value for parsed in last for token in parsed.numbers]
    if all(_is_among(token, in_last) for token in numbers):
        return "mismatch" if results and _is_only_operand(numbers, last) else "stated"
    in_any = [token.value for parsed in parsed_steps for token in parsed.numbers]
    if all(_is_among(token, in_any) for token in numbers):
        # An answer with several numbers may collect the results of several steps.
        is_collected = len(numbers) > 1 and any(_is_among(token, in_last + results) for token in numbers)
        return "stated" if is_collected or last_result(parsed_steps) is None else "mismatch"
    return "unsupported"


def _is_only_operand(numbers: Sequence[Token], parsed_steps: Sequence[StepArithmetic]) -> bool:
    """Whether the last steps use the answer as an operand instead of arriving at it."""
    for parsed in parsed_steps:
        operands = {token.start for claim in parsed.claims for token in claim.operands}
        free = [token.value for token in parsed.numbers if token.start not in operands]
        if any(_is_among(number, free) for number in numbers):
            return False
    return True


def _is_among(token: Token, values: Sequence[Ratio]) -> bool:
    """Whether one of the values is the number, as it is or as a percentage."""
    percentage = reduced((token.value[0] * 100, token.value[1]))
    return any(
        agrees(value, token.value, token.decimals, is_rough=True)
        or agrees((value[0] * 100, value[1]), token.value, token.decimals, is_rough=False)
        or percentage == reduced(value)
        for value in values
    )


def _text_support(final_answer: str, contents: Sequence[str]) -> Support:
    answer = _squeezed(final_answer)
    if answer in _VERDICTS or len(answer) <= 1:
        return "undecidable"
    texts = [_squeezed(content) for content in contents]
    if any(answer in text for text in texts[-NUM_LAST_STEPS:]):
        return "follows"
    if any(answer in text for text in texts):
        return "stated"
    words = _content(final_answer)
    shared = words & _content(*contents)
    return "stated" if words and 2 * len(shared) >= len(words) else "unsupported"


def _squeezed(text: str) -> str:
    """Letters and digits only, so that `c, b, a` equals `cba`."""
    return _NOT_ALPHANUMERIC.sub("", text.casefold())
