"""Notebooks, preflights and what Kaggle gave, for people and for programs."""

from pathlib import Path

from tunix_rt.base.terminal.output import counted, print_json, print_table, say
from tunix_rt.core.preflight import Preflight
from tunix_rt.engines.planning.targets import LOCAL
from tunix_rt.engines.planning.views import duration
from tunix_rt.services.kaggle.kernels import Pulled, Pushed
from tunix_rt.services.kaggle.notebook import WrittenNotebook


def print_written(file: Path, made: WrittenNotebook, *, as_json: bool) -> None:
    """A notebook that was written, and what it rests on."""
    session = made.session
    if as_json:
        print_json(
            {
                "path": str(file),
                "num_sessions": session.num_sessions,
                "stop_after_s": session.stop_after_s,
                "checkpoint_bytes": session.checkpoint_bytes,
                "plan": made.plan.model_dump(mode="json"),
            }
        )
        return
    say(f"written  {file}")
    say(f"plan     {made.plan.reason} ({made.plan.source})")
    total = "" if made.plan.total_seconds is None else f"about {duration(made.plan.total_seconds)}, "
    sessions = "one session" if session.num_sessions == 1 else f"{session.num_sessions} sessions"
    say(f"training {total}{sessions}; stops in time after {duration(session.stop_after_s)}")
    if made.plan.target != LOCAL:
        size = f"{session.checkpoint_bytes / 1e9:.2f} GB"
        say(f"run in   {session.directory}, with checkpoints of about {size}")


def print_preflight(found: Preflight) -> None:
    """Every check with its verdict."""
    rows = [("ok" if check.passed else "FAILED", check.name, check.detail) for check in found.checks]
    print_table(("", "check", "found"), rows, title=f"{found.recipe} on {found.target}")


def print_pushed(pushed: Pushed, *, as_json: bool) -> None:
    """A notebook that Kaggle took."""
    if as_json:
        print_json(pushed.to_json())
        return
    say(f"pushed   {pushed.url}")
    say(f"next     tunix-rt kaggle pull {pushed.kernel} --wait")


def print_pulled(pulled: Pulled, *, as_json: bool) -> None:
    """What a notebook left."""
    if as_json:
        print_json(pulled.to_json())
        return
    say(f"pulled   {counted(len(pulled.files), 'file')} into {pulled.directory}")
    for bundle in pulled.evidence:
        say(f"next     tunix-rt evidence verify {bundle}")
