"""Checks of a step's text that need no arithmetic: empty, repeated, cut off, pretending to verify."""

import re

from tunix_rt.core.linting.claims import Claim, StepReading
from tunix_rt.core.linting.ratios import reduced
from tunix_rt.core.trace import TraceStep

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
    """What two steps have in common when one only repeats the other: the text without numbering and case."""
    if text[0] in "0123456789" or text[:4].lower() == "step":
        text = _NUMBERING.sub("", text)
    if text.isprintable() and "  " not in text:  # then there are only single spaces
        return text.casefold().strip(" ").rstrip(".!")
    return " ".join(text.casefold().split()).rstrip(".!")


def cut_off_span(text: str) -> tuple[int, int] | None:
    """Where a text stops in the middle of a sentence or a formula; None when it does not."""
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


def says_it_verifies(step: TraceStep) -> bool:
    """Whether a step presents itself as a check of what came before."""
    if step.type.lower() in _VERIFICATION_TYPES:
        return True
    lowered = step.content.lower()
    if lowered.isascii() and "check" not in lowered and "verif" not in lowered and "confirm" not in lowered:
        return False  # most steps; the search below is slow
    return _VERIFIES.match(step.content) is not None


def verifies_nothing(step: TraceStep, reading: StepReading, made: set[tuple[object, ...]]) -> bool:
    """Whether a step brings no check of its own; `made` holds the keys of the claims of earlier steps.

    A check is a calculation that no earlier step has made, or a few words that say what was compared.
    """
    if reading.claims:
        return all(claim_key(claim) in made for claim in reading.claims)
    words = [word for word in _WORD.findall(step.content.lower()) if word not in _EMPTY_PHRASES]
    return len(set(words)) < _MIN_NEW_WORDS


def claim_key(claim: Claim) -> tuple[object, ...]:
    """The same calculation has the same key, whatever the order of its operands."""
    operands = sorted(token.value for token in claim.operands)
    return (*operands, None if claim.result is None else reduced(claim.result))
