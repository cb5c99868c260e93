"""`tunix-rt runs …`: every command around runs."""

from tunix_rt.cli import runs_logs
from tunix_rt.cli.runs import app

app.command("logs")(runs_logs.logs)
