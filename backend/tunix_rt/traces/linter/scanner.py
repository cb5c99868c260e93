"""Text (LaTeX included) to tokens: numbers, operators, equals signs, unknowns.

Other words are dropped. Each token only records how many precede it (`gap`), because
"12 skulls + 4 broomsticks = 16" is a calculation and "12 skulls. Then 4" is not.
"""

import re

from tunix_rt.traces.linter.notation import OPAQUE, ROOT, collapsed
from tunix_rt.traces.linter.rationals import Ratio, reduced
from tunix_rt.traces.linter.vocabulary import (
    BREAK,
    COMPOUNDS,
    CONJUNCTIONS,
    FRACTION_WORDS,
    MULTIPLYING_WORDS,
    NUMBER_WORDS,
    OPERAND_FOLLOWS,
    OPERATOR_WORDS,
    SUPERSCRIPTS,
    SYMBOLS,
    TOUCHES_OPERATOR,
    UNIT_FOLLOWS,
    VULGAR_FRACTIONS,
    WORD_OPERAND_FOLLOWS,
    Token,
    TokenKind,
    read_number,
    scanner_for,
)

_COMMANDS = {
    "times": "*", "cdot": "*", "ast": "*", "div": "/", "approx": "≈", "simeq": "≈", "pm": "±", "mp": "±",
    "to": ";", "rightarrow": ";", "Rightarrow": ";", "implies": ";", "quad": ";", "qquad": ";", "neq": ";",
    "ne": ";",
    "leq": ";", "geq": ";", "le": ";", "ge": ";", "lt": ";", "gt": ";", "therefore": ";",
    "because": ";", "ldots": ";", "dots": ";", "pi": "π", "sqrt": ROOT,
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
        text = _OTHER_NOTATION.sub(_replace_notation, text)
        text = _COMMAND.sub(_replace_command, text)
    return _brackets(text) if "{" in text else text.replace("\x02", ";")


_OTHER_NOTATION = re.compile(r"\\sqrt\[[^\]\n]{0,8}\]|\^\s?\{?\\circ\b\}?|\\[dt]?frac(\d)(\d)(?!\d)")


def _replace_notation(match: re.Match[str]) -> str:
    r"""Roots of another degree, degree signs and `\frac12`."""
    sign = OPAQUE if match[0].startswith("\\sqrt") else f"(({match[1]})\x1f{match[2]}\x1e" if match[1] else ""
    return sign.ljust(len(match[0]))


def _replace_command(match: re.Match[str]) -> str:
    name, symbol = match[1], match[2]
    width = len(match[0])
    if name in _FRACTIONS:
        return "(" + "\x02".rjust(width - 1)
    if name is not None:
        # Any other command is an unknown function.
        return _COMMANDS.get(name, "" if name in _WRAPPERS else OPAQUE).ljust(width)
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


MAX_NUMBER_CHARS = 40
PI: Ratio = (245850922, 78256779)
"""Correct to 16 digits, in lowest terms."""
_SCALES = frozenset({100, 1000, 1_000_000, 1_000_000_000})
_LABELS = ("step ", "part ", "case ", "question ", "problem ", "#")
_MAX_INDENT = 12
_PRIMES = ("'", "’", "′")
_OPERAND_ENDS = frozenset({"number", ")"})
_SIGN_PAIRS: dict[str, tuple[TokenKind, TokenKind]] = {"\x1e": (")", ")"), "\x1f": ("/", "(")}
_MEANINGS: dict[str, str] = {
    "of": "share",
    **dict.fromkeys(CONJUNCTIONS, "conjunction"),
    **dict.fromkeys(MULTIPLYING_WORDS, "multiple"),
    **dict.fromkeys(FRACTION_WORDS, "fraction"),
    **dict.fromkeys(OPERATOR_WORDS, "operator"),
    **dict.fromkeys(NUMBER_WORDS, "number"),
    **dict.fromkeys(COMPOUNDS, "compound"),
}


def tokenise(text: str) -> list[Token]:
    """The tokens of a text, in order.

    Example:
        "12 skulls + 4 = 16" -> number 12, + (gap 1), number 4, =, number 16
    """
    lowered = text.lower()
    # A few letters change length in lower case; correct offsets matter more than their case.
    return _Scan(lowered if len(lowered) == len(text) else text).run()


class _Scan:
    """One pass over one text; `gap` counts the words since the last token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []
        self.gap = BREAK
        self.has_notation = False
        """Whether there are roots or function applications, which become one token each."""

    def run(self) -> list[Token]:
        text = self.text
        for match in scanner_for(text).finditer(text):
            part = match.lastgroup
            if part == "number":
                self._number(match["number"], match.start())
            elif part == "plain_words":
                self.gap += len(match[0].split())
            elif part == "symbol":
                start = match.start()
                self._symbol(text[start], start, start + 1)
            elif part == "word":
                start, end = match.start(), match.end("word")
                self._word(text[start:end], start, end)
            elif part == "stop":
                self.gap = BREAK
            elif part is not None:
                self._rare_part(part, match)
        return collapsed(self.tokens, text) if self.has_notation else self.tokens

    def _rare_part(self, part: str, match: re.Match[str]) -> None:
        start, end = match.start(), match.end(part)
        if part == "comparison":
            self.gap = BREAK
        elif part == "suffix":
            digits, suffix = match["number"], match["suffix"]
            if suffix[0] in "snrt" and self._previous() not in ("/", "="):
                self.gap += 1  # "the 2nd day"
            elif suffix[-1].isdigit():  # a time, a ratio, a version, a decimal comma
                self._add("unknown", start, start + len(digits) + len(suffix), name=f"opaque-{start}")
            else:
                self._number(digits, start, len(suffix), is_percent=suffix[-1] in "%t")
        elif part == "implied":
            self._add("implied", start, end)
        elif part == "power":
            self._add("^", start, end)
        elif part == "superscript":
            self._superscript(start, end)
        else:  # a subscript
            self._add("unknown", start, end, name=self.text[start:end])

    def _add(self, kind: TokenKind, start: int, end: int, value: Ratio = (0, 1), name: str = "") -> None:
        self.tokens.append(Token(kind, start, end, self.gap, value, 0, False, name))
        self.gap = 0

    def _number(self, digits: str, start: int, suffix_length: int = 0, *, is_percent: bool = False) -> None:
        text, tokens, gap = self.text, self.tokens, self.gap
        end = start + len(digits) + suffix_length
        if len(digits) > MAX_NUMBER_CHARS or (
            text[start - 1 : start].isalpha() and self._continues_word(start)
        ):
            self._add("unknown", start, end, name=f"opaque-{start}")
            return
        if gap and text.endswith(_LABELS, 0, start):
            self._add("unknown", start, end, name=f"label-{start}")  # "step 1" is a name
            return
        value, decimals = read_number(digits)
        name = "scientific" if "e" in digits and "." not in digits else ""
        tokens.append(Token("number", start, end, gap, value, decimals, is_percent, name))
        self.gap = 0
        if len(tokens) > 1:
            previous = tokens[-2].kind
            if previous == "number" and len(digits) == 3:
                self._merge_spaced_thousands()
            elif previous == "/":
                self._merge_mixed_number()

    def _merge_spaced_thousands(self) -> None:
        """`18 000` is one number."""
        last, token = self.tokens[-2:]
        if token.gap or last.decimals or token.start != last.end + 1:
            return
        is_compound = self.text[token.end : token.end + 1] == "-"  # "12 200-kilobyte videos"
        if last.value[1] == 1 and last.end - last.start <= 3 and last.name != "word" and not is_compound:
            value = (last.value[0] * 1000 + token.value[0], 1)
            self.tokens[-2:] = [last._replace(end=token.end, value=value)]

    def _continues_word(self, start: int) -> bool:
        """`log2(8)`, `sqrt(9)`: what touches a word belongs to it, unless the word is an operator (`2x3`)."""
        return self.text[start - 1 : start].isalpha() and not (self.tokens and self.tokens[-1].end == start)

    def _previous(self) -> str:
        return self.tokens[-1].kind if self.tokens and self.gap == 0 else ""

    def _merge_mixed_number(self) -> None:
        """`1 1/2` and `1 and 1/2` are one number."""
        if len(self.tokens) < 4:
            return
        whole, top, _, bottom = self.tokens[-4:]
        is_denominator = len(self.tokens) > 4 and self.tokens[-5].kind == "/"  # "9/12 and 2/3" are two
        if is_denominator or not whole.kind == top.kind == "number" or top.gap > 1 or bottom.is_percent:
            return
        between = self.text[whole.end : top.start]
        touching = between in (" ", " and ") and bottom.start == top.end + 1
        if whole.is_percent or (between == " and " and self._starts_claim(whole, bottom)):
            return
        if touching and whole.value[1] == 1 and 0 < top.value[0] < bottom.value[0] and bottom.value[1] == 1:
            denominator = bottom.value[0]
            value = reduced((whole.value[0] * denominator + top.value[0], denominator))
            self.tokens[-4:] = [Token("number", whole.start, bottom.end, whole.gap, value, name="fraction")]

    def _starts_claim(self, whole: Token, bottom: Token) -> bool:
        """`6 / 3 = 2 and 3/4 = 0.75` are two claims."""
        is_result = any(token.kind == "=" and token.end <= whole.start for token in self.tokens[-5:-4])
        return is_result and self.text[bottom.end : bottom.end + 3].lstrip().startswith("=")

    def _word(self, word: str, start: int, end: int) -> None:
        meaning = _MEANINGS.get(word)
        if meaning is None:
            if len(word) == 1:
                self._letter(word, start, end)
            else:
                self.gap += 1
        elif meaning == "conjunction":
            self.gap = BREAK
        elif meaning == "number":
            self._number_word(NUMBER_WORDS[word], start, end)
        elif meaning == "compound":
            value = COMPOUNDS[word]
            self._add("number", start, end, value, "word" if value[1] == 1 else "fraction")
        elif meaning == "share" and self._is_share():
            self._add("*", start, end, name="of")
        elif meaning == "operator" and (
            # "4 times because" counts something; "4 times 5" multiplies.
            OPERATOR_WORDS[word] == "=" or WORD_OPERAND_FOLLOWS.match(self.text, end)
        ):
            self._add(OPERATOR_WORDS[word], start, end)
        elif meaning == "fraction" and self.text.startswith((" of ", " the "), end):
            self._fraction_word(FRACTION_WORDS[word], start, end)
        elif meaning == "multiple" and OPERAND_FOLLOWS.match(self.text, end):
            self._add("number", start, end, MULTIPLYING_WORDS[word])
            self._add("*", end, end)
        else:
            self.gap += 1

    def _is_share(self) -> bool:
        """Whether the last number is a part of something: `20%`, `half`, `3/4`."""
        if self._previous() != "number":
            return False
        last = self.tokens[-1]
        is_quotient = len(self.tokens) > 2 and self.tokens[-2].kind == "/"
        return last.is_percent or last.name == "fraction" or is_quotient

    def _number_word(self, value: Ratio, start: int, end: int) -> None:
        last = self.tokens[-1] if self._previous() == "number" else None
        if last is not None and value[0] in _SCALES:
            scaled = reduced((last.value[0] * value[0], last.value[1]))
            self.tokens[-1] = last._replace(end=end, value=scaled, name=last.name or "scaled")
        elif last is not None and last.name == "word" and last.value[0] % 10 == 0 and 0 < value[0] < 10:
            self.tokens[-1] = last._replace(end=end, value=(last.value[0] + value[0], 1))
        else:
            self._add("number", start, end, value, "word")

    def _fraction_word(self, value: Ratio, start: int, end: int) -> None:
        last = self.tokens[-1] if self._previous() == "number" else None
        if last is not None and last.name == "word":
            self.tokens[-1] = last._replace(
                end=end, value=reduced((last.value[0], value[1])), name="fraction"
            )
        else:
            self._add("number", start, end, value, "fraction")

    def _letter(self, letter: str, start: int, end: int) -> None:
        touches_token = bool(self.tokens) and self.tokens[-1].end == start
        follows_operand = bool(self.tokens) and self.tokens[-1].kind in _OPERAND_ENDS
        touches_number = touches_token and follows_operand
        if letter == "π":
            if touches_number:
                self._add("*", start, start)
            self._add("number", start, end, PI, "pi")
        elif letter == "x" and follows_operand and self.gap < BREAK and OPERAND_FOLLOWS.match(self.text, end):
            self._add("*", start, end)
        elif not touches_number and (
            # A unit after a slash that is not an operator ("15 ml/g"), or an article.
            (self.text[start - 1 : start] == "/" and not touches_token)
            or (letter in "ai" and not TOUCHES_OPERATOR.match(self.text, max(start - 1, 0), end + 1))
        ):
            self.gap += 1
        else:
            self._add("unknown", start, end, name=letter)

    def _symbol(self, symbol: str, start: int, end: int) -> None:
        kind = SYMBOLS.get(symbol)
        if kind == "=":
            self._add(kind, start, end)
        elif symbol in _SIGN_PAIRS:
            self.has_notation = True
            for sign in _SIGN_PAIRS[symbol]:
                self._add(sign, start, end)
        elif symbol in "√∛∜":
            self.has_notation = True
            self._add("unknown", start, end, name=ROOT if symbol == ROOT else OPAQUE)
        elif symbol in "±∓":
            self._add("+", start, end)
            self._add("unknown", start, end, name="±")
        elif kind is None:
            self._vulgar_fraction(VULGAR_FRACTIONS[symbol], start, end)
        elif kind in "-+*/" and self._is_not_an_operator(kind, start, end):
            self.gap += kind == "/"
        elif kind == ")" and self.gap and self.tokens and self.tokens[-1].kind == "(":
            self._close_remark(end)
        elif symbol != "~":
            if kind == "(" and (self._continues_word(start) or self.text[start - 1 : start] in _PRIMES):
                self._add("unknown", start, start, name=f"function-{start}")
            if kind == "(" and self._previous() == "unknown" and self.tokens[-1].end == start:
                self.has_notation = True
            self._add(kind, start, end)

    def _superscript(self, start: int, end: int) -> None:
        """`x²` is `x^2`."""
        digits = self.text[start:end].translate(SUPERSCRIPTS)
        if len(digits) > MAX_NUMBER_CHARS or self._previous() not in ("number", "unknown", ")"):
            self.gap += 1
            return
        value = int(digits)
        self._add("^", start, start)
        if value < 0:
            self._add("-", start, start)
        self._add("number", start, end, (abs(value), 1))

    def _close_remark(self, end: int) -> None:
        """`1 (Mary) + 2` is a label; `.15(number of minutes)` multiplies by an unknown."""
        bracket = self.tokens.pop()
        if self.tokens and self.tokens[-1].end == bracket.start:
            self.gap = 0
            self._add("unknown", bracket.start, end, name="remark")
        else:
            self.gap += bracket.gap

    def _vulgar_fraction(self, value: Ratio, start: int, end: int) -> None:
        last = self.tokens[-1] if self._previous() == "number" else None
        if last is not None and start - last.end <= 1 and last.value[1] == 1:
            value = (last.value[0] * value[1] + value[0], value[1])
            self.tokens[-1] = last._replace(end=end, value=value, name="fraction")
        else:
            self._add("number", start, end, value, "fraction")

    def _is_not_an_operator(self, kind: str, start: int, end: int) -> bool:
        """Hyphens in words, slashes in units (`miles/hour`), bullets at the start of a line."""
        if kind == "/" and UNIT_FOLLOWS.match(self.text, end) and self.text[start - 1 : start].isalpha():
            return True
        following = self.text[end : end + 2]
        if kind in "-/" and following.isalpha() and len(following) == 2:
            return True
        line_start = self.text[max(start - _MAX_INDENT, 0) : start].rpartition("\n")[2]
        return self.gap == BREAK and not line_start.strip() and following[:1] == " "
