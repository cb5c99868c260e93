r"""Braces as LaTeX reads them: they nest, and what follows a backslash is no brace."""

import re

_TOKEN = re.compile(r"\\.|[{}]", re.DOTALL)


def closing_brace(text: str, start: int = 0) -> int | None:
    r"""Where the brace stands that closes the one before `start`; None if there is none.

    Example:
        r"\frac{1}{2}} so", 0 -> 11        r"\}", 0 -> None
    """
    depth = 1
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] == "{") - (token[0] == "}")
        if depth == 0:
            return token.start()
    return None


def fits_in_braces(text: str) -> bool:
    r"""Whether `{text}` ends where it seems to: `a}` ends too early, `{a` and `a\` never."""
    return closing_brace(text + "}") == len(text)
