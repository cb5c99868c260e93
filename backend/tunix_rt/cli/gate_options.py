"""The options that make a rule, the same on `gate` and `baselines set`."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

import typer

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.evals.gating import RuleChanges

Protect = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND=NAME",
        help="section=, category= or item=: one that was right must stay right; repeatable.",
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(help="A loss with a smaller p-value fails. Default: the baseline's, else 0.05."),
]
MaxUnscored = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, help="Share of items that may lack a verdict. Default: the baseline's, else 0."
    ),
]

_KINDS = ("section", "category", "item")


def rule_changes(
    protect: Sequence[str] | None, alpha: float | None, max_unscored: float | None
) -> RuleChanges:
    """What the options say about the rule."""
    if alpha is not None and not 0 < alpha < 1:
        raise InvalidInputError(f"--alpha {alpha:g} is no level.", next_step="Give one between 0 and 1.")
    named: defaultdict[str, list[str]] = defaultdict(list)
    for pair in protect or ():
        kind, is_pair, name = pair.partition("=")
        if kind not in _KINDS or not is_pair or not name:
            raise InvalidInputError(
                f"--protect {pair!r} does not say what to protect.",
                next_step="Write --protect section=core, --protect category=money or --protect item=ID.",
            )
        named[kind].append(name)
    return RuleChanges(
        alpha=alpha,
        max_unscored=max_unscored,
        protected_sections=tuple(named["section"]),
        protected_categories=tuple(named["category"]),
        protected_items=tuple(named["item"]),
    )
