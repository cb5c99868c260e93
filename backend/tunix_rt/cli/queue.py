"""`tunix-rt queue status | pause | resume`: whether workers take runs."""

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json
from tunix_rt.cli.runs_view import print_queue
from tunix_rt.services.runs import controlling, listing
from tunix_rt.services.runs.listing import QueueState


def status(as_json: JsonFlag = False) -> None:
    """How the queue stands: runs by status, and who takes them."""
    with opened_home() as home:
        _print(listing.queue_state(home), as_json=as_json)


def pause(as_json: JsonFlag = False) -> None:
    """Let workers take nothing more; what runs goes on."""
    with opened_home() as home:
        _print(controlling.pause_queue(home), as_json=as_json)


def resume(as_json: JsonFlag = False) -> None:
    """Let workers take runs again."""
    with opened_home() as home:
        _print(controlling.resume_queue(home), as_json=as_json)


def _print(queue: QueueState, *, as_json: bool) -> None:
    print_json(queue) if as_json else print_queue(queue)
