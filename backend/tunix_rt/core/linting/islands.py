"""Groups tokens into expressions: runs of operands and operators with at most a few unit words between."""

from dataclasses import dataclass

from tunix_rt.core.linting.tokens import BREAK, Token

MAX_UNIT_WORDS = 8
"""`12 large plastic skulls + 4`: words that may follow a number before its operator."""
MAX_LEAD_WORDS = 3
"""`+ another 5`: words that may stand between an operator and its number."""
MAX_RESULT_WORDS = 8
EQUALITIES = "=~i"


@dataclass(slots=True)
class Island:
    """An expression, and the equality that stands before it (None when nothing joins it to the left)."""

    tokens: list[Token]
    equality: Token | None = None
    words_before_equality: int = 0
    follows_word: bool = False
    is_garbled: bool = False
    """Another expression stands right before it with nothing between: `100 -6 60 = 40`."""


def find_islands(tokens: list[Token]) -> list[Island]:
    """The expressions of a text; an island with an `equality` continues the one before it.

    Example:
        "3 + 4 = 7 cats, 2 dogs" -> [3 + 4], [= 7], [2]
    """
    islands: list[Island] = []
    current = Island([])
    for index, token in enumerate(tokens):
        kind = token.kind
        if kind in EQUALITIES:
            current = _close_at_equality(islands, current, token)
            continue
        if token.name == "word" and _is_passing_word(current, tokens, index):
            continue
        members = current.tokens
        if not members:
            if current.equality is not None and token.gap > MAX_LEAD_WORDS and kind not in "+-*/^":
                current = Island([])  # the equality is too far away
            _begin(current, token)
        elif _joins(members[-1], token):
            if kind in "+-*/^)" and members[-1].kind in "+-*/^(" and token.gap % BREAK:
                members.append(_unknown(token))  # "5 + apples + 3"
            members.append(token)
        else:
            islands.append(current)
            current = Island([], is_garbled=token.gap == 0 and members[-1].name != "word")
            _begin(current, token)
    if current.tokens:
        islands.append(current)
    return islands


def _is_passing_word(island: Island, tokens: list[Token], index: int) -> bool:
    """`55 members in the two groups = …`: a number word in running text is no operand."""
    if not island.tokens or island.tokens[-1].kind != "n" or not 0 < tokens[index].gap < BREAK:
        return False
    return index + 1 < len(tokens) and tokens[index + 1].kind not in "+-*/^"


def _close_at_equality(islands: list[Island], current: Island, equality: Token) -> Island:
    if not current.tokens and current.equality is not None and equality.gap <= 1:
        current.equality = equality  # "is equal to", "= ≈"
        return current
    if current.tokens and current.tokens[-1].kind in "+-*/^" and equality.gap < BREAK:
        current.tokens.append(_unknown(equality))  # "5 + apples = 12"
    if not current.tokens:
        return Island([])
    islands.append(current)
    gap = equality.gap
    return Island([]) if gap > MAX_RESULT_WORDS else Island([], equality, gap)


def _unknown(token: Token) -> Token:
    return Token("v", token.start, token.start, 0, name="word")


def _begin(island: Island, token: Token) -> None:
    island.follows_word = token.gap % BREAK > 0
    if island.follows_word and token.kind in "+-*/^)":
        island.tokens.append(_unknown(token))  # "cost of apples + 5"
    island.tokens.append(token)


def _joins(last: Token, token: Token) -> bool:
    kind, gap = token.kind, token.gap
    if last.kind in "nv)":
        if kind in "+-*/^)":
            return gap <= MAX_UNIT_WORDS
        return kind in "v(" and gap == 0 and token.start == last.end
    if kind in "n(":
        return gap <= (1 if last.name == "of" else MAX_LEAD_WORDS)
    return gap == 0 or (kind in "+-*/^v)" and gap < BREAK)
