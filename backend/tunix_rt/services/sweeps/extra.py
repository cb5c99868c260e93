"""Whether the library that searches is installed; it is imported only when a sweep needs it."""

from importlib.util import find_spec

from tunix_rt.base.errors import MissingExtraError


def has_optuna() -> bool:
    """Whether sweeps can run here."""
    return find_spec("optuna") is not None


def require_optuna() -> None:
    """Refuse what needs a sampler where there is none.

    Raises:
        MissingExtraError: Optuna is not installed.
    """
    if not has_optuna():
        raise MissingExtraError("A sweep", extra="tune")
