"""A process that claims runs until the queue is empty: `python claim_child.py URL WORKER_ID`.

It prints `ready`, waits for a line on standard input, and then prints the id of each run that it claims.
"""

import sys

from tunix_rt.base.db.engine import open_engine
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import Slot


def main() -> None:
    """Claim runs."""
    url, worker_id = sys.argv[1:]
    engine = open_engine(url)
    runs = RunRepository(engine)
    runs.leases()
    _print_line("ready")
    sys.stdin.readline()
    while (claim := runs.claim(worker_id, (Slot(),))) is not None:
        _print_line(claim.run.run_id)
    engine.dispose()


def _print_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
