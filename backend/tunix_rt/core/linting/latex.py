"""Turns LaTeX into plain notation of the same length, so that offsets stay those of the original."""

import re

_COMMANDS = {
    "times": "*", "cdot": "*", "ast": "*", "div": "/", "approx": "≈", "simeq": "≈", "pm": ";", "to": ";",
    "rightarrow": ";", "Rightarrow": ";", "implies": ";", "quad": ";", "qquad": ";", "neq": ";", "ne": ";",
    "leq": ";", "geq": ";", "le": ";", "ge": ";", "therefore": ";",
    "because": ";", "ldots": ";", "dots": ";", "pi": "π",
}  # fmt: skip
_COMMAND = re.compile(r"\\(?:([A-Za-z]+)\*?|(.))", re.DOTALL)
_WRAPPERS = frozenset(
    {"text", "textbf", "mathrm", "mathbf", "boxed", "left", "right", "displaystyle", "mbox"}
)
_FRACTIONS = frozenset({"frac", "dfrac", "tfrac"})


def plain_text(text: str) -> str:
    r"""The text with LaTeX replaced by plain signs, character for character.

    Example:
        "\frac{3}{4} \times 8" -> "(    (3)<over>4<end> *      8"
    """
    if "\\" in text:
        text = _COMMAND.sub(_replace_command, text)
    return _brackets(text) if "{" in text else text.replace("\x02", ";")


def _replace_command(match: re.Match[str]) -> str:
    name, symbol = match[1], match[2]
    width = len(match[0])
    if name in _FRACTIONS:
        return "(" + "\x02".rjust(width - 1)
    if name is not None:
        sign = _COMMANDS.get(
            name, "" if name in _WRAPPERS else "√"
        )  # any other command is an unknown function
        return sign.ljust(width)
    if symbol in "%{}":
        return f" {symbol}" if symbol == "%" else "  "
    return ";\n" if symbol == "\\" else "  "


def _brackets(text: str) -> str:
    r"""Braces become round brackets; the two arguments of a fraction become a quotient in brackets.

    `\x1f` stands for `/(` and `\x1e` for `))`: one character each, because the length must not change.
    """
    out = list(text)
    closers: list[str] = []
    for index, character in enumerate(text):
        if character == "{":
            opens_fraction = index > 0 and out[index - 1] == "\x02"
            if opens_fraction:
                out[index - 1] = " "
            out[index] = "\x1f" if index > 0 and out[index - 1] == "\x03" else "("
            if out[index] == "\x1f":
                out[index - 1] = ")"
            closers.append("\x03" if opens_fraction else "\x1e" if out[index] == "\x1f" else ")")
        elif character == "}" and closers:
            out[index] = closers.pop()
    return "".join(out).replace("\x02", ";").replace("\x03", ")")
