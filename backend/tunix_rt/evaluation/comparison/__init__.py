"""Two evaluations side by side; baselines, gates, leaderboard."""
