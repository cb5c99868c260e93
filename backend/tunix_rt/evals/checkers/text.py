"""Texts: right when equal but for case, white space, quotes, an article and the final full stop."""

import re

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.checkers.base import Checked, quoted
from tunix_rt.evals.checkers.plain import plain

VERSION = "1"
_ARTICLE = re.compile(r"(?:the|an|a) (?=\S)")
_AROUND_MARKS = re.compile(r"\s*([,;:/])\s*")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")


def check_text(item: EvalItem, answer: str) -> Checked:
    """Whether the answer is the expected text or an accepted one.

    Example:
        expected "Lisbon": "**lisbon**." -> right; "Lisbon or Porto" -> wrong
    """
    given = canonical_text(answer)
    # Capitals inside a word (deepBlueSea) were asked for; elsewhere case is a matter of taste.
    wanted = [
        (text, _INNER_CAPITAL.search(text) is not None)
        for text in (item.expected_answer, *item.accepted_answers)
    ]
    for text, keeps_case in wanted:
        if canonical_text(answer, keeps_case=keeps_case) == canonical_text(text, keeps_case=keeps_case):
            canonical = canonical_text(item.expected_answer)
            return Checked(True, "text", f"{quoted(answer)!r} is {quoted(text)!r}", canonical)
    explanation = f"{quoted(answer)!r} is not {quoted(item.expected_answer)!r}"
    return Checked(False, "text", explanation, given)


def canonical_text(text: str, *, keeps_case: bool = False) -> str:
    """The spelling in which texts are compared.

    Example:
        " The  Sun. " -> "sun"
    """
    text = " ".join(plain(text).split())
    text = text if keeps_case else text.casefold()
    return _AROUND_MARKS.sub(r"\1", _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text)
