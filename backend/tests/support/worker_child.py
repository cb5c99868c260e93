"""A worker process with a fake engine: `python -m support.worker_child PROGRAM`."""

import sys
from contextlib import closing

from support.workers import ANY, ProgramExecutor, quick
from tunix_rt.base.home import open_home
from tunix_rt.base.settings import load_settings
from tunix_rt.runs.worker.loop import WorkerLoop, work

if __name__ == "__main__":
    with closing(open_home(quick(load_settings()))) as store:
        sys.exit(work(WorkerLoop(store, ANY, ProgramExecutor(sys.argv[1]))))
