"""The tables. Migrations make them; repositories are the only readers and writers.

traces ──┬── trace_bodies      the canonical JSON, apart, so that lists read small rows
         ├── trace_index       words and meta labels (FTS5 on SQLite, tsvector on PostgreSQL)
         ├── trace_reports     what the linter said, whole
         └── trace_lint_codes  which findings it made, one row each

evaluations ──┬── predictions  what was written for each item, one row a sample
              └── baselines    named ones, each with the rule that a new evaluation must pass
gate_checks                    every verdict of a gate; stays when what it is about is removed

runs ──── run_events           what queue and workers did with a run; the engine writes its own to files
workers   service_flags        who takes runs; whether the queue is paused
tasks                          evaluations and exports that workers carry out; each has its files in tasks/
models ──┬── model_versions ── model_tags
         └── model_aliases     names that move from version to version
sweeps ──┬── sweep_trials      each an ordinary run
         └── sweep_journal     what the sampler remembers
preferences                    which of two answers was preferred; stays when a model is removed
api_tokens                     hashes of the tokens that may ask
"""

from tunix_rt.db.schema.access import api_tokens
from tunix_rt.db.schema.columns import UtcDateTime, metadata
from tunix_rt.db.schema.evaluations import baselines, evaluations, gate_checks, predictions
from tunix_rt.db.schema.models import model_aliases, model_tags, model_versions, models
from tunix_rt.db.schema.preferences import preferences
from tunix_rt.db.schema.runs import run_events, runs, service_flags, workers
from tunix_rt.db.schema.sweeps import sweep_journal, sweep_trials, sweeps
from tunix_rt.db.schema.tasks import tasks
from tunix_rt.db.schema.traces import trace_bodies, trace_lint_codes, trace_reports, traces

SCHEMA_HEAD = "0006"
"""The newest migration: what the code in this tree expects to find."""

__all__ = [
    "SCHEMA_HEAD",
    "UtcDateTime",
    "api_tokens",
    "baselines",
    "evaluations",
    "gate_checks",
    "metadata",
    "model_aliases",
    "model_tags",
    "model_versions",
    "models",
    "predictions",
    "preferences",
    "run_events",
    "runs",
    "service_flags",
    "sweep_journal",
    "sweep_trials",
    "sweeps",
    "tasks",
    "trace_bodies",
    "trace_lint_codes",
    "trace_reports",
    "traces",
    "workers",
]
