"""Compare evaluations: paired differences, baselines, the gate, the leaderboard."""
