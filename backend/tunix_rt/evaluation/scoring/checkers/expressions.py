"""Read mathematical answers, in LaTeX or plain notation, as expressions, relations, lists and intervals."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from tunix_rt.evaluation.scoring.checkers.quantities import find_unit, is_hedged
from tunix_rt.evaluation.scoring.checkers.text import clean, without_lead_in

MAX_CHARS = 500
_MAX_DEPTH = 20
_MAX_TOKENS = 250

_FUNCTIONS = (
    "sqrt|arcsin|arccos|arctan|asin|acos|atan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|lg|exp|abs"
)
_GREEK = (
    "alpha|beta|gamma|delta|epsilon|theta|lambda|mu|nu|rho|sigma|tau|phi|varphi|omega|psi|xi|zeta|eta|kappa"
)
_NAMED = re.compile(rf"([A-Za-z]?)({_FUNCTIONS}|pi)([A-Za-z]?)")
_NAMES = frozenset(f"{_FUNCTIONS}|{_GREEK}|pi".split("|"))
_MAX_LETTERS = 3
"""A longer run of letters is a word, not a product."""

_COMMANDS = (
    (re.compile(r"\\(?:left|right|big|Big|bigg|Bigg|displaystyle|limits|bigl|bigr)(?![A-Za-z])"), " "),
    (re.compile(r"\\[,;:!> ]|~|\\q?quad(?![A-Za-z])"), " "),
    (re.compile(r"\\[dtc]frac(?![A-Za-z])"), r"\\frac"),
    (re.compile(r"\\[dt]binom(?![A-Za-z])"), r"\\binom"),
    (re.compile(r"\^\s*\{\s*\\circ\s*\}|\^\s*\\circ(?![A-Za-z])|\\degree(?![A-Za-z])"), "°"),
    (re.compile(r"\\(?:cdot|times)(?![A-Za-z])|[·×∙⋅]"), "*"),
    (re.compile(r"\\div(?![A-Za-z])|÷"), "/"),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"\\(?:leq|le|leqslant)(?![A-Za-z])|<=|=<"), "≤"),
    (re.compile(r"\\(?:geq|ge|geqslant)(?![A-Za-z])|>="), "≥"),
    (re.compile(r"\\(?:neq|ne)(?![A-Za-z])|!="), "≠"),
    (re.compile(r"\\lt(?![A-Za-z])"), "<"),
    (re.compile(r"\\gt(?![A-Za-z])"), ">"),
    (re.compile(r"\\(?:lvert|rvert|vert)(?![A-Za-z])"), "|"),
    (re.compile(r"\\langle(?![A-Za-z])"), "("),
    (re.compile(r"\\rangle(?![A-Za-z])"), ")"),
    (re.compile(r"\\pm(?![A-Za-z])|\+/-|\+-"), "±"),
    (re.compile(r"\\mp(?![A-Za-z])"), "∓"),
    (re.compile(r"\\infty(?![A-Za-z])|\binfinity\b|\binfty\b"), "∞"),
    (re.compile(r"\\(?:cup)(?![A-Za-z])|(?<=[)\]])\s*U\s*(?=[(\[])"), "∪"),
    (re.compile(r"\\in(?![A-Za-z])"), "∈"),
    (re.compile(r"\\(?:emptyset|varnothing)(?![A-Za-z])|∅"), "⦃⦄"),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\\\{"), "⦃"),
    (re.compile(r"\\\}"), "⦄"),
    (re.compile(r"\\(?:text|mathrm|textbf|mbox)\s*\{\s*(and|or)\s*\}"), r" \1 "),
    (re.compile(r"\\(?:mathrm|operatorname)\s*\{\s*([A-Za-z]+)\s*\}(?=\s*[({A-Za-z\\])"), r"\\\1 "),
    (re.compile(r"π"), r"\\pi "),
    (re.compile(r"√"), r"\\sqrt "),
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{(.*)\}", re.DOTALL)
_FORMULA = re.compile(r"(?<!\\)\$([^$]+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_DELIMITERS = re.compile(r"\\\(|\\\)|\\\[|\\\]|(?<!\\)\$")
_UNIT = re.compile(
    r"(?:\\(?:text|mathrm|textrm|mbox|operatorname)\s*\{\s*([^{}\\]+?)\.?\s*\}"
    r"|(?<=[\s})])([A-Za-z]{2,}(?: [a-z]+)?))"
    r"\s*(?:\^\s*\{?([23])\}?)?\s*$"
)
_VALUE_END = re.compile(r"[\w)}\]!|]$")
_DEGREE = re.compile(r"(?<=[\d}) ])°$")
_SHARE = re.compile(r"%$")
_GROUPED = re.compile(r"\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d|,\d)")
_TOKEN = re.compile(r"\s*(\\[A-Za-z]+|\d+(?:\.\d+)?|\.\d+|[A-Za-z]+|[α-ωΑ-Ω]|\S)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+")
_BASE = re.compile(
    r"\(?([0-9A-Fa-f]+)\)?\s*(?:_\s*\{?\s*(?:\\text\s*\{)?\s*(\w+)\s*\}?\s*\}?"
    r"|,?\s*\(?(?:in )?base[ -](\w+)\)?)"
)
_BASES = {
    word: str(value)
    for value, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve".split(),
        2,
    )
} | {"sixteen": "16"}
_RELATIONS = frozenset("=<>≤≥≠∈")
_SEPARATORS = frozenset({",", ";", "and", "or"})
_OPENING = {"(": ")", "[": "]", "⦃": "⦄", "{": "}"}
_CLOSING = frozenset(")]⦄}")

_WORD = re.compile(r"[A-Za-z]+")
_STRONG = re.compile(
    r"[+*=<>≤≥≠^|√!]|(?<=[\w)]) - (?=[\w(])|(?<!\d)\d+[a-z](?![a-z])|\d\(|\)\(|[a-z]\((?=.*\d)"
)
"""Notation that words and codes do not have."""
_WEAK = re.compile(
    r"(?<![a-z])[a-z]\)?[-/]\(?(?:[a-z](?![a-z])|\d)|\d\)?[-/]\(?\d*[a-z](?![a-z])|^-\d*[a-z]$|\d[a-z]{2,3}(?![a-z])"
)
_CODE = re.compile(r"[A-Za-z]\d|[A-Z][a-z]|[a-z][A-Z]|\d[A-Z]")
"""`H2O`, `CO2`, `McKay`, `3D`: formulas and codes, not products."""
_RANGE = re.compile(r"\d\s*-\s*\d")
_ABBREVIATIONS = frozenset("n/a w/o a/c b/c c/o y/n i/o u-turn x-ray e-mail t-shirt".split())
_ENGLISH = frozenset(
    "am an as at be by do go he hi if in is it me my no of oh ok on op so st to tu up us we de ad pm th nd rd"
    " the and for are but not you all any can her was one our out day get has him his how man new now old see"
    " two way who boy did its let put say she too use".split()
)


@dataclass(frozen=True)
class Node:
    """An expression or a statement about expressions."""

    kind: str
    args: "tuple[Node, ...]" = ()
    text: str = ""


@dataclass(frozen=True)
class Statement:
    """What an answer states, and the unit after it, or empty."""

    node: Node
    unit: str = ""


class _NotMathError(Exception):
    """The text is not in this notation."""


@lru_cache(maxsize=256)
def parse(text: str) -> Statement | None:
    r"""The statement of an answer; None if it is not entirely in this notation.

    Example:
        "x = \frac{1}{2}" -> relation "=" of symbol x and the quotient 1/2; "blue whale" -> None
    """
    if len(text) > MAX_CHARS:
        return None
    text = _formula(text)
    if match := _BASE.fullmatch(text):
        base = match[2] or match[3]
        base = _BASES.get(base.lower(), base)
        if base.isdigit() and 2 <= int(base) <= 36:
            return Statement(Node("based", text=match[1].upper().lstrip("0") or "0"), f"base {base}")
    for pattern, spelling in _COMMANDS:
        text = pattern.sub(spelling, text)
    text, unit = _without_unit(text.strip())
    try:
        tokens = _tokens(text)
        return Statement(_Parser(tokens).statement(), unit) if len(tokens) <= _MAX_TOKENS else None
    except _NotMathError:
        return None


def is_plain_number(statement: Statement) -> bool:
    """Whether a statement is a number without a unit, a constant or a function."""
    return not statement.unit and _has_only_digits(statement.node)


def _has_only_digits(node: Node) -> bool:
    return node.kind in ("number", "+", "-", "*", "/") and all(map(_has_only_digits, node.args))


def is_expression(expected: str) -> bool:
    """Whether an expected answer in plain notation is mathematics rather than a text.

    Example:
        "p - q", "3x+2", "x=5", "1,2,3", "2516_9" -> True; "yes", "x", "A-B", "3D", "12:30", "a, b" -> False
    """
    statement = parse(expected)
    if statement is None or (statement.unit and statement.node.kind != "based"):
        return False
    if statement.node.kind == "based":
        return "_" in expected or "base" in expected
    words = [word for word in _WORD.findall(expected) if word not in _SEPARATORS]
    if not words:
        return _is_numeric_expression(statement.node, expected)
    if _CODE.search(expected) or expected.strip().casefold() in _ABBREVIATIONS:
        return False
    names = [word for word in words if word in _NAMES]
    products = [word for word in words if len(word) > 1 and word not in _NAMES]
    is_strong = _STRONG.search(expected) is not None
    if any(not _is_product(word, is_strong) for word in products):
        return False
    is_function = statement.node.kind not in ("symbol", "constant", "list") and bool(names)
    # `p-q` and `a/b`, but not `A-B` or `A/B`.
    is_weak = _WEAK.search(expected) is not None and expected == expected.lower()
    return is_strong or is_function or is_weak or expected.strip() == "pi"


def _is_numeric_expression(node: Node, text: str) -> bool:
    """Whether a text of digits is a list, a point or a sum; `3-2` may be a score."""
    if "=" in text or _RANGE.search(text):
        return False
    return node.kind in ("list", "group", "union", "+", "*") or "!" in text[:-1]


def _is_product(word: str, is_strong: bool) -> bool:
    if (
        word in _ENGLISH
        or not word.isalpha()
        or word != (word.lower() if word[:1].islower() else word.upper())
    ):
        return False
    is_run = all(ord(after) - ord(before) == 1 for before, after in pairwise(word))
    return is_run or (is_strong and len(word) == 2)


def _formula(text: str) -> str:
    """The only formula of an answer, without its delimiters; the answer if it has none or several."""
    text = without_lead_in(clean(text)).strip()
    for mark in ("**", "`"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)]
    formulas = list(_FORMULA.finditer(text))
    if len(formulas) == 1:
        rest = text[: formulas[0].start()] + " " + text[formulas[0].end() :]
        inner = next(group for group in formulas[0].groups() if group)
        # The words of a sentence are not read, so they may neither deny the formula nor add to it.
        if not is_hedged(rest) and not re.search(r"[\d=<>+^\\]", rest):
            words = rest.split()
            text = inner + (
                f" \\text{{{words[-1].rstrip('.')}}}" if text.startswith("$") and len(words) == 1 else ""
            )
    text = _DELIMITERS.sub("", text).strip()
    if match := _BOX.fullmatch(text):
        text = match[1].strip()
    return without_lead_in(text).rstrip(" .")


def _without_unit(text: str) -> tuple[str, str]:
    if match := _UNIT.search(text):
        words = (match[1] or match[2]).strip()
        before = text[: match.start()].rstrip()
        is_product = match[2] is not None and len(words) <= _MAX_LETTERS and find_unit(words)[0] is None
        if _VALUE_END.search(before) and not is_product and words.lower() not in _NAMES | _SEPARATORS:
            return before, words + {"2": "²", "3": "³"}.get(match[3] or "", "")
    # `\sin 30°` is an angle inside a function; `90°` is a number of degrees.
    if _DEGREE.search(text) and not re.search(r"sin|cos|tan|cot|sec|csc", text):
        return text[:-1].rstrip(), "°"
    if _SHARE.search(text):
        return text[:-1].rstrip(), "%"
    return text, ""


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    depth = position = 0
    while position < len(text):
        grouped = _GROUPED.match(text, position) if depth == 0 else None
        if grouped is not None:
            match_end = grouped.end()
            tokens.append(re.sub(r"\D", "", grouped[0]))
            decimals = re.compile(r"\.\d+").match(text, match_end)
            if decimals:
                tokens[-1] += decimals[0]
                match_end = decimals.end()
            position = match_end
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            break
        token, position = match[1], match.end()
        depth += (token in _OPENING) - (token in _CLOSING)
        if tokens and _NUMBER.fullmatch(token) and _NUMBER.fullmatch(tokens[-1]):
            tokens.append(" ")
        tokens.extend(_letters(token) if token.isascii() and token.isalpha() else [token])
    return tokens


def _letters(word: str) -> list[str]:
    """A word as names and single letters."""
    if word in _NAMES:
        return [f"\\{word}"]
    if word in _SEPARATORS:
        return [word]
    if match := _NAMED.fullmatch(word):
        return [part for part in (match[1], f"\\{match[2]}", match[3]) if part]
    if len(word) > _MAX_LETTERS:
        raise _NotMathError
    return list(word)


class _Parser:
    """Recursive descent; every method consumes the tokens of what it returns."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0
        self._num_bars = 0
        self._in_function = 0

    def statement(self) -> Node:
        node = self._list()
        if self._position < len(self._tokens):
            raise _NotMathError
        return node

    def _peek(self, offset: int = 0) -> str:
        position = self._position + offset
        return self._tokens[position] if position < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise _NotMathError
        self._position += 1
        return token

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise _NotMathError

    def _list(self) -> Node:
        items = [self._relation()]
        words = set()
        while self._peek() in _SEPARATORS:
            separator = self._next()
            if separator == "," and self._peek() in ("and", "or"):
                separator = self._next()
            words.add(separator)
            items.append(self._relation())
        return items[0] if len(items) == 1 else Node("list", tuple(items), "or" if "or" in words else ",")

    def _relation(self) -> Node:
        sides = [self._union()]
        relations = []
        while self._peek() in _RELATIONS:
            operator = self._next()
            sides.append(self._union())
            relations.append(Node("relation", (sides[-2], sides[-1]), operator))
        if not relations:
            return sides[0]
        return relations[0] if len(relations) == 1 else Node("chain", tuple(relations))

    def _union(self) -> Node:
        parts = [self._side()]
        while self._peek() == "∪":
            self._next()
            parts.append(self._side())
        return parts[0] if len(parts) == 1 else Node("union", tuple(parts))

    def _side(self) -> Node:
        if self._peek() in _OPENING and (self._peek() == "⦃" or self._is_group()):
            return self._group()
        return self._sum()

    def _is_group(self) -> bool:
        """Whether the bracket that opens here holds a list and ends the side."""
        depth = 0
        has_comma = False
        for position in range(self._position, len(self._tokens)):
            token = self._tokens[position]
            depth += (token in _OPENING) - (token in _CLOSING)
            has_comma = has_comma or (depth == 1 and token in (",", ";"))
            if depth == 0:
                following = self._tokens[position + 1] if position + 1 < len(self._tokens) else ""
                return has_comma and (
                    not following or following in _RELATIONS | _SEPARATORS | {"∪"} | _CLOSING
                )
        return False

    def _group(self) -> Node:
        self._enter()
        opening = self._next()
        if self._peek() in _CLOSING:
            content = Node("list")
        else:
            content = self._list()
        closing = self._next()
        if closing not in _CLOSING:
            raise _NotMathError
        self._depth -= 1
        items = content.args if content.kind == "list" else (content,)
        brackets = {"{": "⦃", "}": "⦄"}
        return Node("group", items, brackets.get(opening, opening) + brackets.get(closing, closing))

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _NotMathError

    def _sum(self) -> Node:
        node = self._signed()
        while self._peek() in ("+", "-", "±", "∓"):
            operator = self._next()
            node = Node(operator, (node, self._signed()))
        return node

    def _signed(self) -> Node:
        signs = []
        while self._peek() in ("+", "-", "±", "∓"):
            signs.append(self._next())
        node = self._product()
        for sign in reversed(signs):
            node = node if sign == "+" else Node(sign, (Node("number", text="0"), node))
        return node

    def _product(self) -> Node:
        node = self._power()
        while True:
            token = self._peek()
            if token in ("*", "/"):
                self._next()
                sign = self._next() if self._peek() in ("+", "-") else "+"
                factor = self._power()
                if sign == "-":
                    factor = Node("-", (Node("number", text="0"), factor))
                node = Node(token, (node, factor))
            elif token == " ":
                node = self._mixed(node)
            elif self._starts_factor(token):
                follows_number = node.kind == "number"
                factor = self._power()
                # `2\frac{1}{2}` is a mixed number.
                is_mixed = (
                    follows_number
                    and factor.kind == "/"
                    and factor.text == "frac"
                    and all(argument.kind == "number" for argument in factor.args)
                )
                node = Node("+" if is_mixed else "*", (node, factor))
            else:
                return node

    def _mixed(self, whole: Node) -> Node:
        self._expect(" ")
        top = self._next()
        self._expect("/")
        bottom = self._next()
        if whole.kind != "number" or not (top.isdigit() and bottom.isdigit()) or "." in whole.text:
            raise _NotMathError
        return Node("+", (whole, Node("/", (Node("number", text=top), Node("number", text=bottom)))))

    def _starts_factor(self, token: str) -> bool:
        if not token or token in ("and", "or"):
            return False
        if token == "|":
            return self._num_bars == 0
        if _NUMBER.fullmatch(token):
            return True
        return token in ("(", "[", "{", "∞") or token[0] == "\\" or token.isalpha()

    def _power(self) -> Node:
        node = self._atom()
        while True:
            token = self._peek()
            if token == "^":
                self._next()
                node = Node("^", (node, self._exponent()))
            elif token == "!":
                self._next()
                node = Node("!", (node,))
            elif token == "°" and self._in_function:
                self._next()
                node = Node("degrees", (node,))
            else:
                return node

    def _exponent(self) -> Node:
        if self._peek() in ("+", "-"):
            sign = self._next()
            node = self._exponent()
            return Node("-", (Node("number", text="0"), node)) if sign == "-" else node
        node = self._atom()
        if self._peek() == "^":  # towers group from the right
            self._next()
            node = Node("^", (node, self._exponent()))
        return node

    def _atom(self) -> Node:
        token = self._next()
        if _NUMBER.fullmatch(token):
            if self._peek() == "_":
                raise _NotMathError
            return Node("number", text=token)
        if token in ("(", "[", "{"):
            self._enter()
            bars, self._num_bars = self._num_bars, 0
            node = self._sum()
            self._expect(_OPENING[token])
            self._num_bars, self._depth = bars, self._depth - 1
            return node
        if token == "|":
            self._enter()
            self._num_bars += 1
            node = Node("abs", (self._sum(),))
            self._expect("|")
            self._num_bars -= 1
            self._depth -= 1
            return node
        if token == "∞":
            return Node("constant", text="inf")
        if token[0] == "\\":
            return self._command(token[1:])
        if token.isalpha() and len(token) == 1:
            return self._symbol(token)
        raise _NotMathError

    def _symbol(self, name: str) -> Node:
        if self._peek() == "_":
            self._next()
            if self._peek() == "{":
                self._next()
                parts = []
                while self._peek() != "}":
                    parts.append(self._next())
                self._next()
            else:
                parts = [self._next()]
            if not all(part.isalnum() for part in parts):
                raise _NotMathError
            return Node("symbol", text=f"{name}_{''.join(parts)}")
        return Node("constant" if name in ("e", "i") else "symbol", text=name)

    def _command(self, name: str) -> Node:
        if name == "pi":
            return Node("constant", text="pi")
        if name in _GREEK.split("|") or name.lower() in _GREEK.split("|"):
            return self._symbol(f"\\{name}")
        if name in ("frac", "binom"):
            top, bottom = self._argument(), self._argument()
            return Node("/" if name == "frac" else "binomial", (top, bottom), name)
        if name == "sqrt":
            degree = Node("number", text="2")
            if self._peek() == "[":
                self._next()
                degree = self._sum()
                self._expect("]")
            return Node("root", (self._argument(), degree))
        if name in ("mathbf", "mathit", "mathrm"):
            return self._argument()
        if name in _FUNCTIONS.split("|"):
            return self._function(name)
        raise _NotMathError

    def _argument(self) -> Node:
        r"""A bracketed argument or one token: `\frac12`, `\sqrt2`, `sqrt(2)`."""
        token = self._peek()
        if token.isdigit() and len(token) > 1 and self._tokens[self._position - 1] == "\\frac":
            self._tokens[self._position : self._position + 1] = [token[0], token[1:]]
        if self._peek() == " ":
            self._next()
        self._enter()
        node = self._atom()
        self._depth -= 1
        return node

    def _function(self, name: str) -> Node:
        exponent = base = None
        for _ in range(2):
            if self._peek() == "_" and name == "log":
                self._next()
                base = self._argument()
            elif self._peek() == "^":
                self._next()
                exponent = self._exponent()
        if self._peek() == " ":
            self._next()
        self._in_function += 1
        self._enter()
        node = self._atom() if self._peek() in ("(", "{", "[", "|") else self._bare_argument()
        self._in_function -= 1
        self._depth -= 1
        node = Node("abs", (node,)) if name == "abs" else Node("function", (node,), name)
        if base is not None:
            node = Node("/", (node, Node("function", (base,), "log")))
        if exponent is None:
            return node
        if exponent == Node("-", (Node("number", text="0"), Node("number", text="1"))):
            return Node("function", node.args, f"arc{name}")
        return Node("^", (node, exponent))

    def _bare_argument(self) -> Node:
        r"""The factors up to an operator or another function: `\sin 2x`."""
        node = self._power()
        while self._starts_factor(self._peek()) and self._peek()[1:] not in _FUNCTIONS.split("|")[1:]:
            if self._peek() in ("(", "[", "{", "|"):
                break
            node = Node("*", (node, self._power()))
        return node
