"""A process that takes runs until there are none: `python claim_child.py URL WORKER_ID`.

Says `ready`, waits for a line on standard input, then prints the id of each run that it gets.
"""

import sys

from tunix_rt.base.db.engine import open_engine
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import Slot


def main() -> None:
    """Take runs."""
    url, worker_id = sys.argv[1:]
    engine = open_engine(url)
    runs = RunRepository(engine)
    runs.leases()
    _say("ready")
    sys.stdin.readline()
    while (claim := runs.claim(worker_id, (Slot(),))) is not None:
        _say(claim.run.run_id)
    engine.dispose()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
