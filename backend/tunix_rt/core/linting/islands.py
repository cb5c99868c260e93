"""Groups tokens into expressions: runs of operands and operators with at most a few unit words between."""

from dataclasses import dataclass, field

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

    tokens: list[Token] = field(default_factory=list)
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
    current = Island()
    for index, token in enumerate(tokens):
        kind = token.kind
        if kind in EQUALITIES:
            current = _close_at_equality(islands, current, token)
            continue
        if token.name == "word" and _is_passing_word(current, tokens, index):
            continue
        if not _joins(current, token):
            _close(islands, current)
            current = Island(is_garbled=_is_garbled(current, token))
        _append(current, token)
    _close(islands, current)
    return islands


def _is_passing_word(island: Island, tokens: list[Token], index: int) -> bool:
    """`55 members in the two groups = …`: a number word in running text is no operand."""
    if not island.tokens or island.tokens[-1].kind != "n" or not 0 < tokens[index].gap < BREAK:
        return False
    return index + 1 < len(tokens) and tokens[index + 1].kind not in "+-*/^"


def _close(islands: list[Island], island: Island) -> None:
    if island.tokens:
        islands.append(island)


def _close_at_equality(islands: list[Island], current: Island, equality: Token) -> Island:
    if not current.tokens and current.equality is not None and equality.gap <= 1:
        current.equality = equality  # "is equal to", "= ≈"
        return current
    if current.tokens and current.tokens[-1].kind in "+-*/^" and equality.gap < BREAK:
        current.tokens.append(_unknown(equality))  # "5 + apples = 12"
    _close(islands, current)
    if not current.tokens or equality.gap > MAX_RESULT_WORDS:
        return Island()
    return Island(equality=equality, words_before_equality=equality.gap)


def _is_garbled(island: Island, token: Token) -> bool:
    return bool(island.tokens) and token.gap == 0 and island.tokens[-1].name != "word"


def _unknown(token: Token) -> Token:
    return Token("v", token.start, token.start, 0, name="word")


def _joins(island: Island, token: Token) -> bool:
    gap = token.gap
    if not island.tokens:
        return island.equality is None or gap <= MAX_LEAD_WORDS or token.kind in "+-*/^"
    last = island.tokens[-1]
    if last.kind in "nv)":
        if token.kind in "+-*/^)":
            return gap <= MAX_UNIT_WORDS
        return token.kind in "v(" and gap == 0 and token.start == last.end
    max_lead_words = 1 if last.name == "of" else MAX_LEAD_WORDS
    return gap <= (max_lead_words if token.kind in "n(" else 0) or (token.kind in "+-*/^v)" and gap < BREAK)


def _append(island: Island, token: Token) -> None:
    wants_operand = not island.tokens or island.tokens[-1].kind in "+-*/^("
    num_words = token.gap % BREAK
    if not island.tokens:
        island.follows_word = num_words > 0
    if token.kind in "+-*/^)" and wants_operand and num_words:
        island.tokens.append(_unknown(token))  # "cost of apples + 5"
    island.tokens.append(token)
