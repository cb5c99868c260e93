"""Eval sets by name: the shipped ones, the user's own, and on the command line any file."""

from dataclasses import dataclass
from pathlib import Path

from tunix_rt.base.assets import shipped_evalset_names, shipped_evalset_path
from tunix_rt.base.errors import NotFoundError, did_you_mean
from tunix_rt.base.settings import Settings
from tunix_rt.core.evalset import EvalItem, evalset_hash
from tunix_rt.evals.evalset import load_evalset

_ENDING = ".jsonl"


@dataclass(frozen=True)
class OpenedEvalSet:
    """An eval set whose every item can be asked."""

    name: str
    items: tuple[EvalItem, ...]

    @property
    def content_hash(self) -> str:
        """SHA-256 of the items in their order."""
        return evalset_hash(self.items)

    def first(self, limit: int | None) -> "OpenedEvalSet":
        """The first items only; all of them without a limit."""
        return self if limit is None else OpenedEvalSet(self.name, self.items[:limit])


def evalset_paths(settings: Settings) -> dict[str, Path]:
    """The eval sets that have a name, and their files. A shipped name is never the user's."""
    own = {path.stem: path for path in sorted(settings.evalsets_dir.glob(f"*{_ENDING}"))}
    return own | {name: shipped_evalset_path(name) for name in shipped_evalset_names()}


def named_evalset(settings: Settings, name: str) -> OpenedEvalSet:
    """The eval set of this name. Never a path: for whoever asks over HTTP.

    Raises:
        NotFoundError: Nothing has this name.
        DataError: A line of it is no item, or an id occurs twice.
    """
    paths = evalset_paths(settings)
    if name not in paths:
        raise NotFoundError(f"There is no eval set {name!r}.", next_step=did_you_mean(name, paths))
    return OpenedEvalSet(name, load_evalset(paths[name]))


def open_evalset(settings: Settings, reference: str) -> OpenedEvalSet:
    """The eval set of a name or of a file. For the command line.

    Example:
        "eval_v2", "training/evalsets/eval_v2.jsonl" -> the same items, both named "eval_v2"

    Raises:
        NotFoundError: There is no such name or file.
        DataError: A line of it is no item, or an id occurs twice.
    """
    looks_like_path = "/" in reference or reference.endswith(_ENDING)
    if looks_like_path and reference not in evalset_paths(settings):
        return OpenedEvalSet(Path(reference).stem, load_evalset(Path(reference)))
    return named_evalset(settings, reference)
