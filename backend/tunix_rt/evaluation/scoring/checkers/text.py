"""Normalized spelling of answers; the text checker."""

import re
import unicodedata
from dataclasses import dataclass

from tunix_rt.datasets.types import CheckerName, EvalItem

_KEPT_CONTROLS = "\n\t"
_VULGAR = re.compile("([¼-¾⅐-⅞↉])")
_SUPERSCRIPTS = re.compile("[⁺⁻]?[⁰¹²³⁴-⁹]+")
_SPELLINGS = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | dict.fromkeys("⁄∕", "/") | dict.fromkeys("‘’", "'"))

_ESCAPED_DOLLAR = "\x01"
_SPACING = re.compile(r"\\[,;:! ]|\\(?:left|right|displaystyle|quad|qquad)(?![A-Za-z])")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_ONE_TERM = re.compile(r"[-+]?[\w.,]+")
_ONE_FACTOR = re.compile(r"[-+]?(?:[\d.,]+|\w)")
_SHORT_FRACTION = re.compile(r"\\[dt]?frac\s*(\d)\s*(\d)")
_WRAPPER = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|boxed|operatorname)\s*\{([^{}]*)\}")
_EXPONENT = re.compile(r"\^\s*\{([^{}]*)\}")
_DEGREE = re.compile(r"\^\s*\{?\s*\\circ\s*\}?|\\degree")
_MATH = re.compile(r"\\\(|\\\)|\\\[|\\\]")
_DOLLAR_MATH = re.compile(r"\$\$?([^$]*)\$\$?")
_COMMANDS = {"\\times": "×", "\\cdot": "×", "\\div": "÷", "\\approx": "≈", "\\%": "%", "\\{": "{", "\\}": "}"}
_MAX_NESTING = 4

_LEAD_IN = re.compile(
    r"(?:(?:so|thus|therefore|hence),?\s+)?(?:(?:the\s+|my\s+)?(?:final\s+|correct\s+)?"
    r"(?:answer|result|solution)\s*(?:is|was|equals|=|:)\s*:?\s*|(?:it\s+is|it's|this\s+is|that\s+is)\s+)",
    re.IGNORECASE,
)
_STOPS = " .!,;"
_WRAPPED = (("**", "**"), ("__", "__"), ("`", "`"), ('"', '"'), ("“", "”"), ("'", "'"), ("*", "*"))


def clean(text: str) -> str:
    """The text without invisible characters, with signs and digits in their plain spelling.

    Example:
        "−２½\u200b" -> "-2 1/2"
    """
    if not text.isascii():
        text = _VULGAR.sub(r" \1", text)
        text = _SUPERSCRIPTS.sub(lambda match: "^" + match[0], text)
        text = unicodedata.normalize("NFKC", text).translate(_SPELLINGS)
    if not (text.isascii() and text.isprintable()):
        text = "".join([_visible(character) for character in text])
    return text.strip()


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Cf"):
        return " " if character in _KEPT_CONTROLS else ""
    if category == "Nd" and not character.isascii():
        return str(unicodedata.decimal(character))
    return character


def without_latex(text: str) -> str:
    r"""The text with its LaTeX in plain notation, as far as answers in words or numbers need it.

    Example:
        "$\\frac{3}{4}$ \\text{ cups}" -> "3/4 cups"
    """
    if "\\" not in text and "$" not in text and "{" not in text:
        return text
    text = text.replace("\\$", _ESCAPED_DOLLAR).replace("{,}", ",")
    text = _DEGREE.sub("°", _SPACING.sub(" ", _MATH.sub("", text)))
    for command, sign in _COMMANDS.items():
        text = text.replace(command, sign)
    text = _SHORT_FRACTION.sub(r" \1/\2", _EXPONENT.sub(_exponent, text))
    for _ in range(_MAX_NESTING):
        text = _WRAPPER.sub(r"\1", _FRACTION.sub(_fraction, text))
    if text.count("$") % 2 == 0:
        text = _DOLLAR_MATH.sub(r"\1", text)
    return text.replace(_ESCAPED_DOLLAR, "$").strip()


def _exponent(match: re.Match[str]) -> str:
    return f"^{match[1]}" if len(match[1]) == 1 else f"^({match[1]})"


def _fraction(match: re.Match[str]) -> str:
    """Add brackets where the fraction bar groups terms: x + 1 over 2 is not x + 1/2."""
    top, bottom = match[1].strip(), match[2].strip()
    top = top if _ONE_TERM.fullmatch(top) else f"({top})"
    return f" {top}/{bottom if _ONE_FACTOR.fullmatch(bottom) else f'({bottom})'}"


def plain(text: str) -> str:
    """An answer without LaTeX, Markdown, quotes, a lead-in or its final full stop.

    Example:
        "The answer is **18**." -> "18"
    """
    text = _unwrapped(without_latex(clean(text)))
    rest = without_lead_in(text)
    return text if rest == text else _unwrapped(rest)


def without_lead_in(text: str) -> str:
    """The text without a lead-in such as `The answer is`."""
    match = _LEAD_IN.match(text)
    return (text[match.end() :] or text) if match else text


def _unwrapped(text: str) -> str:
    text = text.rstrip(_STOPS) or text
    for opening, closing in _WRAPPED:
        inner = text[len(opening) : -len(closing)]
        if inner and text.startswith(opening) and text.endswith(closing) and opening not in inner:
            text = inner.strip().rstrip(_STOPS) or inner.strip()
    return text


_MAX_QUOTED_CHARS = 80


@dataclass(frozen=True)
class Checked:
    """Whether an answer is correct, and why."""

    is_right: bool | None
    """None: the checker could not decide; the answer is unscored."""
    checker: CheckerName
    explanation: str
    canonical: str | None
    """Canonical form: equal answers have equal texts. None: the answer has no vote."""


def undecidable(checker: CheckerName, expected: str, kind: str) -> Checked:
    """No verdict, because the expected answer itself cannot be parsed."""
    return Checked(None, checker, f"the expected answer {quoted(expected)!r} is no {kind}", None)


def quoted(text: str) -> str:
    """A text for explanations: on one line, and shortened."""
    line = " ".join(clean(text).split())
    return line if len(line) <= _MAX_QUOTED_CHARS else line[: _MAX_QUOTED_CHARS - 1] + "…"


VERSION = "1"
_ARTICLE = re.compile(r"(?:the|an|a) (?=\S)")
_AROUND_MARKS = re.compile(r"\s*([,;:/])\s*")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")


def check_text(item: EvalItem, answer: str) -> Checked:
    """Whether the answer is the expected text or an accepted one.

    Example:
        expected "Lisbon": "**lisbon**." -> right; "Lisbon or Porto" -> wrong
    """
    for text in (item.expected_answer, *item.accepted_answers):
        # Capitals inside a word (deepBlueSea) matter; elsewhere case is ignored.
        keeps_case = _INNER_CAPITAL.search(text) is not None
        if canonical_text(answer, keeps_case=keeps_case) == canonical_text(text, keeps_case=keeps_case):
            canonical = canonical_text(item.expected_answer)
            return Checked(True, "text", f"{quoted(answer)!r} is {quoted(text)!r}", canonical)
    explanation = f"{quoted(answer)!r} is not {quoted(item.expected_answer)!r}"
    return Checked(False, "text", explanation, canonical_text(answer))


def canonical_text(text: str, *, keeps_case: bool = False) -> str:
    """The normalized form in which texts are compared.

    Example:
        " The  Sun. " -> "sun"
    """
    text = " ".join(plain(text).split())
    text = text if keeps_case else text.casefold()
    return _AROUND_MARKS.sub(r"\1", _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text)
