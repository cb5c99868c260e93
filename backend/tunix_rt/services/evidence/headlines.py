"""What a bundle comes to, in one sentence. The wording is part of evidence version 1."""

from tunix_rt.core.evidence.summary import EvalSummary
from tunix_rt.engines.training.types import RunManifest


def success_headline(summary: EvalSummary) -> str:
    """Of a run that succeeded.

    Example:
        "demo-1 trained tiny-gemma on demo-v1 for 2,000 steps (loss 4.29 to 0.0024) and answers 99.0% of sums
        right (n = 200)."
    """
    figures, card = summary.figures, summary.scorecard
    losses = f"loss {figures['first_loss'].value:.3g} to {figures['final_loss'].value:.3g}"
    return (
        f"{summary.run_id} trained {summary.model} on {summary.dataset} for "
        f"{figures['num_steps'].value:,.0f} steps ({losses}) and answers "
        f"{summary.primary_score.value:.1%} of {summary.eval_set} right (n = {card.n_scored:,})."
    )


def failure_headline(run_id: str, manifest: RunManifest | None) -> str:
    """Of a run that did not succeed."""
    if manifest is None:
        return f"FAILURE REPORT: the run {run_id} ended without a last word."
    reason = "" if manifest.failure is None else f": {manifest.failure.detail}"
    return f"FAILURE REPORT: the run {run_id} {_ENDED[manifest.status]}{reason}"


_ENDED = {
    "failed": "failed",
    "cancelled": "was cancelled",
    "cancelling": "was being cancelled",
    "running": "had not ended",
    "queued": "had not begun",
    "succeeded": "succeeded",
}
