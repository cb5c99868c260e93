"""`tunix-rt eval …`: every command around evaluation."""

from tunix_rt.cli import eval as eval_run
from tunix_rt.cli import (
    eval_export,
    eval_faithfulness,
    eval_judge,
    eval_records,
    eval_rescore,
    leaderboard,
)
from tunix_rt.cli.eval_group import app

app.command("run")(eval_run.run)
app.command("list")(eval_records.list_)
app.command("show")(eval_records.show)
app.command("items")(eval_records.items)
app.command("rescore")(eval_rescore.rescore)
app.command("score")(eval_rescore.score)
app.command("export")(eval_export.export)
app.command("add")(eval_records.add)
app.command("rm")(eval_records.rm)
app.command("judge")(eval_judge.judge)
app.command("faithfulness")(eval_faithfulness.faithfulness)
app.command("leaderboard")(leaderboard.leaderboard)
